import { describedBy, Field, PostForm } from "../../components.tsx";
import { environments } from "./read_new_key.ts";

/** The form as it is first shown. */
export const emptyForm: Record<string, string[]> = {
  access: ["all"],
  expires: ["90"],
  on_disconnect: ["cancel"],
  translation_mode: ["default"],
  prompt_cache: ["on"],
};

interface FormProps {
  csrf: string;
  /** Those that the person may give. */
  scopes: readonly string[];
  isOwner: boolean;
  values: Record<string, string[]>;
  fieldErrors: Readonly<Record<string, string>>;
}

/** All that a key may be given. */
export function NewKeyForm({ csrf, scopes, isOwner, values, fieldErrors }: FormProps) {
  const shown = { values, fieldErrors };
  return (
    <PostForm action="/dashboard/keys/new" csrf={csrf} class="form">
      <Field
        id="name"
        label="Name"
        hint="What it is for, such as “checkout service”."
        error={fieldErrors.name}
      >
        <input
          id="name"
          name="name"
          type="text"
          required
          maxlength={200}
          autocomplete="off"
          value={values.name?.[0] ?? ""}
          {...describedBy("name", { hint: true, error: fieldErrors.name !== undefined })}
        />
      </Field>
      <div class="columns">
        <Environment {...shown} />
        <Expiry {...shown} />
      </div>
      <Access {...shown} scopes={scopes} isOwner={isOwner} />
      <div class="columns">
        <Amount {...shown} id="cap_day" label="Spend per day, USD" />
        <Amount {...shown} id="cap_month" label="Spend per month, USD" />
      </div>
      <Models {...shown} />
      <div class="columns">
        <Choice
          {...shown}
          id="on_disconnect"
          label="When a caller hangs up"
          options={[["cancel", "Stop the vendor's answer"], ["drain", "Read it to the end"]]}
        />
        <Choice
          {...shown}
          id="translation_mode"
          label="What a vendor can't take"
          options={[
            ["default", "Drop hints, refuse the rest"],
            ["strict", "Refuse all"],
            ["lenient", "Drop and report all"],
          ]}
        />
        <Choice
          {...shown}
          id="prompt_cache"
          label="Prompt cache of Anthropic"
          options={[["on", "Mark long prompts"], ["off", "Only where the caller marks"]]}
        />
      </div>
      <div class="buttons">
        <button type="submit" class="button button-primary">Create API Key</button>
        <a class="button" href="/dashboard/keys">Cancel</a>
      </div>
    </PostForm>
  );
}

type Shown = Pick<FormProps, "values" | "fieldErrors">;

function Environment({ values }: Shown) {
  const options: [string, string][] = [
    ["", "None"],
    ...environments.map((one): [string, string] => [
      one,
      one,
    ]),
  ];
  return (
    <Choice
      values={values}
      fieldErrors={{}}
      id="environment"
      label="Environment"
      options={options}
    />
  );
}

function Expiry({ values, fieldErrors }: Shown) {
  const options: [string, string][] = [
    ["30", "In 30 days"],
    ["90", "In 90 days"],
    ["365", "In a year"],
    ["on", "On the day below"],
    ["never", "Never"],
  ];
  return (
    <div class="field">
      <Choice values={values} fieldErrors={{}} id="expires" label="Expires" options={options} />
      <label class="visually-hidden" for="expires_on">Last day on which the key works</label>
      <input
        id="expires_on"
        name="expires_on"
        type="date"
        value={values.expires_on?.[0] ?? ""}
        {...describedBy("expires", { error: fieldErrors.expires !== undefined })}
      />
      {fieldErrors.expires === undefined
        ? null
        : <p class="error" id="expires-error">{fieldErrors.expires}</p>}
    </div>
  );
}

function Access(
  { values, fieldErrors, scopes, isOwner }: Shown & Pick<FormProps, "scopes" | "isOwner">,
) {
  const access = values.access?.[0] ?? "all";
  return (
    <fieldset>
      <legend>Access</legend>
      <label class="choice">
        <input type="radio" name="access" value="all" checked={access === "all"} />{" "}
        {isOwner ? "Everything" : "Everything but erasing data, which an owner can give"}
      </label>
      <label class="choice">
        <input type="radio" name="access" value="some" checked={access === "some"} />{" "}
        Only these endpoints
      </label>
      <div class="scopes">
        {scopes.map((scope) => (
          <label class="choice">
            <input
              type="checkbox"
              name="scope"
              value={scope}
              checked={values.scope?.includes(scope) ?? false}
            />{" "}
            <code>{scope}</code>
          </label>
        ))}
      </div>
      {fieldErrors.scopes === undefined ? null : <p class="error">{fieldErrors.scopes}</p>}
    </fieldset>
  );
}

function Amount({ values, fieldErrors, id, label }: Shown & { id: string; label: string }) {
  return (
    <Field id={id} label={label} hint="Empty: no cap." error={fieldErrors[id]}>
      <input
        id={id}
        name={id}
        type="text"
        inputmode="decimal"
        autocomplete="off"
        placeholder="25.00"
        value={values[id]?.[0] ?? ""}
        {...describedBy(id, { hint: true, error: fieldErrors[id] !== undefined })}
      />
    </Field>
  );
}

function Models({ values, fieldErrors }: Shown) {
  return (
    <Field
      id="models"
      label="Models"
      hint="Ids as in the unified list, one a line. Empty: every model."
      error={fieldErrors.models}
    >
      <textarea
        id="models"
        name="models"
        rows={3}
        spellcheck={false}
        placeholder="openai/gpt-5-mini"
        {...describedBy("models", { hint: true, error: fieldErrors.models !== undefined })}
      >
        {values.models?.[0] ?? ""}
      </textarea>
    </Field>
  );
}

function Choice(
  { values, id, label, options }: Shown & {
    id: string;
    label: string;
    options: readonly (readonly [value: string, label: string])[];
  },
) {
  return (
    <Field id={id} label={label}>
      <select id={id} name={id}>
        {options.map(([value, text]) => (
          <option value={value} selected={values[id]?.[0] === value}>{text}</option>
        ))}
      </select>
    </Field>
  );
}
