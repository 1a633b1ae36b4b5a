import { adminScope } from "../../../../contracts/kernel/contract.ts";
import { describedBy, PostForm } from "../../components.tsx";
import {
  DayInput,
  FormButtons,
  type Option,
  SelectField,
  type Shown,
  TextArea,
  TextField,
} from "../../fields.tsx";
import { type VendorNames, vendorWithLabel } from "../../vendor_names.ts";
import { environments } from "./read_new_key.ts";

/** The form's first values. */
export const emptyForm: Record<string, string[]> = {
  access: ["all"],
  expires: ["90"],
  on_disconnect: ["cancel"],
  translation_mode: ["default"],
  prompt_cache: ["on"],
  record: ["full"],
};

interface FormProps extends Shown {
  csrf: string;
  /** The scopes that the person may give. */
  scopes: readonly string[];
  /** Vendors' display names by their scopes. */
  vendorNames: VendorNames;
  isOwner: boolean;
}

export function NewKeyForm({ csrf, values, fieldErrors, ...may }: FormProps) {
  const shown = { values, fieldErrors };
  return (
    <PostForm action="/dashboard/keys/new" csrf={csrf} class="form">
      <TextField
        {...shown}
        id="name"
        label="Name"
        hint="What it is for, such as “checkout service”."
        required
        maxlength={200}
      />
      <div class="columns">
        <SelectField {...shown} id="environment" label="Environment" options={environmentOptions} />
        <Expiry {...shown} />
      </div>
      <Access {...shown} {...may} />
      <div class="columns">
        <TextField {...shown} {...cap} id="cap_day" label="Spend per day, USD" />
        <TextField {...shown} {...cap} id="cap_month" label="Spend per month, USD" />
      </div>
      <TextArea
        {...shown}
        id="models"
        label="Models"
        hint="Names as in calls, one per line; a virtual model allows its targets. Empty: every model."
        placeholder="openai/gpt-5-mini"
      />
      <div class="columns">
        <SelectField
          {...shown}
          id="on_disconnect"
          label="If the caller disconnects"
          options={[["cancel", "Cancel the vendor's call"], ["drain", "Let it finish"]]}
        />
        <SelectField
          {...shown}
          id="translation_mode"
          label="Unsupported fields"
          options={[
            ["default", "Drop hints, refuse the rest"],
            ["strict", "Refuse all"],
            ["lenient", "Drop and report all"],
          ]}
        />
        <SelectField
          {...shown}
          id="prompt_cache"
          label="Anthropic prompt cache"
          options={[["on", "Mark long prompts"], ["off", "Only if the caller marks them"]]}
        />
        <TextField
          {...shown}
          id="cache_ttl"
          label="Response cache, seconds"
          hint="How long answers are reused for identical calls. Empty: never."
          placeholder="3600"
          inputmode="numeric"
        />
        <SelectField
          {...shown}
          id="record"
          label="Recording"
          options={[["full", "Calls with content"], ["metadata", "Usage and cost only"]]}
        />
      </div>
      <FormButtons back="/dashboard/keys">Create API Key</FormButtons>
    </PostForm>
  );
}

const environmentOptions: readonly Option[] = [
  ["", "None"],
  ...environments.map((one): Option => [one, one]),
];

export const cap = { hint: "Empty: no cap.", placeholder: "25.00", inputmode: "decimal" } as const;

const expiryOptions: readonly Option[] = [
  ["30", "In 30 days"],
  ["90", "In 90 days"],
  ["365", "In a year"],
  ["on", "On the day below"],
  ["never", "Never"],
];

function Expiry({ values, fieldErrors }: Shown) {
  return (
    <div class="field expiry">
      <SelectField
        {...{ values, fieldErrors: {} }}
        id="expires"
        label="Expires"
        hint="Calls with the key are refused from then on, so rotate it before."
        options={expiryOptions}
      />
      <div class="expires-on">
        <label class="visually-hidden" for="expires_on">Last day on which the key works</label>
        <DayInput
          id="expires_on"
          label="Last day on which the key works"
          value={values.expires_on?.[0] ?? ""}
          required={false}
          isTime={false}
          described={describedBy("expires", { error: fieldErrors.expires !== undefined })}
        />
      </div>
      {fieldErrors.expires === undefined
        ? null
        : <p class="error" id="expires-error">{fieldErrors.expires}</p>}
    </div>
  );
}

function Access(
  { values, fieldErrors, scopes, vendorNames, isOwner }: Omit<FormProps, "csrf">,
) {
  const access = values.access?.[0] ?? "all";
  const error = fieldErrors.scopes;
  return (
    <fieldset>
      <legend>Access</legend>
      <label class="choice">
        <input type="radio" name="access" value="all" checked={access === "all"} /> {!isOwner
          ? "Everything but erasing data, which only an owner can grant"
          : scopes.includes(adminScope)
          ? (
            <>
              Everything but <code>{adminScope}</code>
            </>
          )
          : "Everything"}
      </label>
      <label class="choice">
        <input type="radio" name="access" value="some" checked={access === "some"} />{" "}
        Only these endpoints
      </label>
      <div class="scopes">
        {scopes.map((scope, at) => (
          <label class="choice">
            <input
              type="checkbox"
              name="scope"
              value={scope}
              checked={values.scope?.includes(scope) ?? false}
              {...describedBy("scopes", { error: error !== undefined && at === 0 })}
            />{" "}
            <code>{vendorWithLabel(vendorNames, scope)}</code>
          </label>
        ))}
      </div>
      {error === undefined ? null : <p class="error" id="scopes-error">{error}</p>}
    </fieldset>
  );
}
