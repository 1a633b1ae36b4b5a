import type { Child } from "hono/jsx";
import { describedBy, Field } from "./components.tsx";
import type { FieldErrors } from "./faults.ts";
import { readTime, typedTime } from "./format.ts";
import { Icon } from "./navigation.tsx";

/** A form's contents: the values as they were typed, and what is wrong with them. */
export interface Shown {
  values: Readonly<Record<string, readonly string[]>>;
  fieldErrors: FieldErrors;
}

/** A form that isn't filled in yet. */
export const blankForm: Shown = { values: {}, fieldErrors: {} };

interface FieldProps extends Shown {
  /** Id of the control, and the name of its value. */
  id: string;
  label: string;
  hint?: string;
}

export function TextField(
  { values, fieldErrors, id, label, hint, required, type = "text", ...attributes }:
    & FieldProps
    & {
      placeholder?: string;
      inputmode?: "decimal" | "numeric";
      maxlength?: number;
      required?: boolean;
      /** Id of the datalist with suggestions. */
      list?: string;
      type?: "text" | "number";
    },
) {
  return (
    <Field id={id} label={label} hint={hint} error={fieldErrors[id]}>
      <input
        id={id}
        name={id}
        type={type}
        autocomplete="off"
        dir="auto"
        spellcheck={false}
        required={required ?? false}
        {...attributes}
        value={values[id]?.[0] ?? ""}
        {...describedBy(id, { hint: hint !== undefined, error: fieldErrors[id] !== undefined })}
      />
    </Field>
  );
}

/** A day, typed as people write it or chosen from the browser's calendar; `isTime`: with a time. */
export function DayField({ values, fieldErrors, id, label, hint, required, isTime }: FieldProps & {
  required?: boolean;
  isTime?: boolean;
}) {
  const has = { hint: hint !== undefined, error: fieldErrors[id] !== undefined };
  const text = values[id]?.[0] ?? "";
  // The contract's message says how programs write a time.
  const isUnread = has.error && text !== "" && !readTime(text, { hasTime: isTime ?? false });
  return (
    <Field
      {...{ id, label, hint }}
      error={isUnread ? `Expected a day such as ${dayExample}.` : fieldErrors[id]}
    >
      <DayInput
        {...{ id, label, required: required ?? false, isTime: isTime ?? false }}
        value={text}
        described={describedBy(id, has)}
      />
    </Field>
  );
}

const dayExample = "21 Nov 2026";

/**
 * The control of a day: a text input, which reads the same in every language of a browser, unlike
 * `<input type="date">`. That one is beside it only for its calendar (`dashboard.js`).
 */
export function DayInput({ id, label, value, required, isTime, described = {} }: {
  id: string;
  label: string;
  value: string;
  required: boolean;
  isTime: boolean;
  described?: ReturnType<typeof describedBy>;
}) {
  const at = readTime(value, { hasTime: isTime });
  return (
    <div class="day">
      <input
        id={id}
        name={id}
        type="text"
        autocomplete="off"
        spellcheck={false}
        required={required}
        placeholder={isTime ? `${dayExample}, 09:00` : dayExample}
        value={at ? typedTime(at, isTime) : value}
        {...described}
      />
      <button type="button" class="button day-button" aria-label={`Calendar: ${label}`} hidden>
        <Icon name="calendar" />
      </button>
      <input
        class="day-calendar"
        type={isTime ? "datetime-local" : "date"}
        tabindex={-1}
        aria-hidden="true"
        hidden
      />
    </div>
  );
}

/** Text of several lines. */
export function TextArea(
  { values, fieldErrors, id, label, hint, placeholder, rows = 3 }: FieldProps & {
    placeholder?: string;
    rows?: number;
  },
) {
  return (
    <Field id={id} label={label} hint={hint} error={fieldErrors[id]}>
      <textarea
        id={id}
        name={id}
        rows={rows}
        dir="auto"
        spellcheck={false}
        {...(placeholder === undefined ? {} : { placeholder })}
        {...describedBy(id, { hint: hint !== undefined, error: fieldErrors[id] !== undefined })}
      >
        {values[id]?.[0] ?? ""}
      </textarea>
    </Field>
  );
}

/** A value with its label. */
export type Option = readonly [value: string, label: string];

/** A list that opens, to choose one of several. */
export function SelectField(
  { values, fieldErrors, id, label, hint, options }: FieldProps & { options: readonly Option[] },
) {
  return (
    <Field id={id} label={label} hint={hint} error={fieldErrors[id]}>
      <select
        id={id}
        name={id}
        {...describedBy(id, { hint: hint !== undefined, error: fieldErrors[id] !== undefined })}
      >
        {options.map(([value, text]) => (
          <option value={value} selected={values[id]?.[0] === value}>{text}</option>
        ))}
      </select>
    </Field>
  );
}

/** A choice of one (`radio`) or several (`checkbox`) options, all in view. */
export function Choices(
  { values, fieldErrors, id, label, type, options }: Omit<FieldProps, "hint"> & {
    type: "radio" | "checkbox";
    options: readonly Option[];
  },
) {
  const error = fieldErrors[id];
  const isNone = values[id] === undefined;
  return (
    <fieldset>
      <legend>{label}</legend>
      {options.map(([value, text], at) => (
        <label class="choice">
          <input
            type={type}
            name={id}
            value={value}
            checked={values[id]?.includes(value) ?? false}
            {...describedBy(id, { error: error !== undefined && at === 0 })}
          />{" "}
          {text}
        </label>
      ))}
      {error === undefined ? null : (
        <p class="error" id={`${id}-error`} role="alert">
          {isNone ? "Choose at least one." : error}
        </p>
      )}
    </fieldset>
  );
}

/** The error that concerns the whole form. */
export function FormError({ fieldErrors }: { fieldErrors: FieldErrors }) {
  return fieldErrors[""] === undefined
    ? null
    : <p class="notice notice-failed" role="alert">{fieldErrors[""]}</p>;
}

/** The form's submit button, a further one, and the link back. */
export function FormButtons({ children, back, cancel = "Cancel", further, tone = "primary" }: {
  children?: Child;
  back: string;
  cancel?: string;
  further?: Child;
  tone?: "primary" | "danger";
}) {
  return (
    <div class="buttons">
      <button type="submit" class={`button button-${tone}`}>{children}</button>
      {further}
      <a class="button" href={back}>{cancel}</a>
    </div>
  );
}

/** Returns a text area's lines without duplicates. */
export function listOf(text: string): string[] {
  return [...new Set(text.split(/[\n\r]+/).map((one) => one.trim()).filter((one) => one !== ""))];
}
