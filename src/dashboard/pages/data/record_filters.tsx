import type { PageContext, PageRequest } from "../../bind.tsx";
import type { ApiKey } from "../../../keys/api_key.ts";
import { Choices, type Option, SelectField, type Shown, TextField } from "../../fields.tsx";
import type { Form } from "../../form.ts";
import { KeyField } from "../../key_field.tsx";
import { namedModel } from "../../named_model.ts";
import { type VendorNames, vendorOptions } from "../../vendor_names.ts";

/** The ways a call can end, as values of the filter. */
const statuses: readonly Option[] = [
  ["completed", "Completed"],
  ["failed", "Failed"],
  ["truncated", "Cut off by the vendor"],
  ["cancelled", "Left by the caller"],
  ["interrupted", "Interrupted"],
];

/** Columns that are filtered by a single value. */
const columns = [
  ...["vendor", "model", "app", "flow", "cohort_id", "user_id", "session_id", "api_key_id"],
] as const;

/** Returns the field of a column; the prefix keeps it apart from the form's other fields. */
const field = (column: string) => `filter_${column}`;

/** Fields that choose stored calls by the values of their columns. */
export function FilterFields({ keys, vendors, ...shown }: Shown & {
  keys: readonly ApiKey[] | undefined;
  vendors: VendorNames;
}) {
  const isOpen = [...columns, "status"].some((column) =>
    (shown.values[field(column)]?.[0] ?? "") !== "" ||
    shown.fieldErrors[field(column)] !== undefined
  );
  return (
    <details class="more" open={isOpen}>
      <summary>Filters</summary>
      <div class="more-body">
        <p class="hint">One value each, exactly as stored. Empty: any.</p>
        <div class="columns">
          <SelectField
            {...shown}
            id={field("vendor")}
            label="Vendor"
            options={[["", "Any"], ...vendorOptions(vendors)]}
          />
          <TextField {...shown} id={field("model")} label="Model" placeholder="openai/gpt-5-mini" />
          <TextField {...shown} id={field("app")} label="App" />
          <TextField {...shown} id={field("flow")} label="Flow" />
          <TextField {...shown} id={field("cohort_id")} label="Cohort" />
          <KeyField {...{ ...shown, keys }} id={field("api_key_id")} label="API key" any="Any" />
          <TextField {...shown} id={field("user_id")} label="User" />
          <TextField {...shown} id={field("session_id")} label="Session" />
        </div>
        <Choices
          {...shown}
          id={field("status")}
          label="Status"
          type="checkbox"
          options={statuses}
        />
      </div>
    </details>
  );
}

export async function readFilters(
  ctx: PageContext,
  { accountId }: PageRequest,
  form: Form,
): Promise<Record<string, string | string[]>> {
  const single = columns.flatMap((column) =>
    Object.values(form.filledExactly(field(column))).map((value) => [column, value] as const)
  );
  const filters: Record<string, string> = Object.fromEntries(single);
  const wanted = form.all(field("status"));
  return {
    ...filters,
    ...await namedModel(ctx, accountId, filters),
    ...(wanted.length > 0 ? { status: wanted } : {}),
  };
}

export function filterField(param: string): string | undefined {
  const column = /^filters\.(\w+)/.exec(param)?.[1];
  return column === undefined ? undefined : field(column);
}

/** Returns the fields' values that a link's query sets (`?cohort_id=…`). */
export function askedFilters(query: (name: string) => string | undefined) {
  return Object.fromEntries(columns.flatMap((column) => {
    const value = query(column);
    return value === undefined ? [] : [[field(column), [value]] as const];
  }));
}
