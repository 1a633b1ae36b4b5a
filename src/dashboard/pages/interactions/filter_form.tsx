import { endings } from "./endings.ts";
import type { Child } from "hono/jsx";
import { DownloadMenu } from "../../components.tsx";
import { type VendorNames, vendorOptions } from "../../vendor_names.ts";
import { DayInput } from "../../fields.tsx";
import type { ApiKey } from "../../../keys/api_key.ts";
import {
  columnFilters,
  type FilterName,
  listPath,
  presets,
  statuses,
  type View,
  viewAddress,
} from "./view.ts";

/** The filters: a form that puts them into the address, and the filters that are on. */
export function FilterForm({ view, vendors, keys, seesPayloads, searched }: {
  seesPayloads: boolean;
  /** The text in the search field. */
  searched: string;
  view: View;
  vendors: VendorNames;
  keys: readonly ApiKey[] | undefined;
}) {
  return (
    <search class="filters">
      <form method="get" action={listPath} class="filter-form" autocomplete="off">
        <SearchField value={searched} seesPayloads={seesPayloads} />
        <Choice view={view} name="range" label="Time" any="Any time" options={timeOptions} />
        <Choice view={view} name="status" label="Status" any="Any status" options={statusOptions} />
        <Choice
          view={view}
          name="vendor"
          label="Vendor"
          any="Any vendor"
          options={vendorOptions(vendors)}
        />
        <button type="submit" class="button">Apply</button>
        <details class="more-filters">
          <summary class="button">More filters</summary>
          <div class="filter-grid">
            <MoreFields view={view} keys={keys} />
            <div class="buttons">
              <button type="submit" class="button button-primary">Apply filters</button>
            </div>
          </div>
        </details>
        <FurtherValues view={view} />
      </form>
      <Problems view={view} />
      <Chips view={view} />
    </search>
  );
}

/** Downloads of the view's calls; `isWhole`: also with prompts. */
export function ExportMenu({ view, isWhole }: { view: View; isWhole: boolean }) {
  const files = [
    { text: "CSV of the table", href: viewAddress(`${listPath}/csv`, view.fields) },
    ...(isWhole ? ["csv", "json"] : []).map((format) => ({
      text: `${format.toUpperCase()} with prompts`,
      href: viewAddress(`${listPath}/export`, view.fields, { format }),
    })),
  ];
  return <DownloadMenu title="Export this view" files={files} />;
}

const timeOptions = presets.map(({ value, label }) => [value, label] as const);
const statusOptions = statuses.map((status) => [status, endings[status].label] as const);

function SearchField({ value, seesPayloads }: { value: string; seesPayloads: boolean }) {
  return (
    <div class="search-field">
      <label class="visually-hidden" for="filter-q">
        {seesPayloads ? "Words in requests and answers, or a request's id" : "A request's id"}
      </label>
      <input
        type="search"
        dir="auto"
        id="filter-q"
        name={seesPayloads ? "q" : "id"}
        value={value}
        placeholder={seesPayloads
          ? "Words, a “phrase”, or an X-Request-ID"
          : "X-Request-ID of an answer"}
        autocomplete="off"
        maxlength={500}
      />
    </div>
  );
}

function Choice({ view, name, label, any, options }: {
  view: View;
  name: string;
  label: string;
  any: string;
  options: readonly (readonly [value: string, label: string])[];
}) {
  const chosen = view.fields.get(name) ?? "";
  // An old address may hold a value that is no longer among the options.
  const all = chosen === "" || options.some(([value]) => value === chosen)
    ? options
    : [...options, [chosen, chosen] as const];
  return (
    <div class="choice-field">
      <label class="visually-hidden" for={`filter-${name}`}>{label}</label>
      <select id={`filter-${name}`} name={name}>
        <option value="">{any}</option>
        {all.map(([value, text]) => (
          <option value={value} selected={value === chosen}>{text}</option>
        ))}
      </select>
    </div>
  );
}

const textFilters: readonly FilterName[] = [
  "model",
  "app",
  "flow",
  "cohort",
  "user",
  "session",
  "request",
];

const timeFields = [["from", "From (UTC)"], ["to", "To (UTC)"]] as const;

/** The ends of ranges, as fields. */
const rangeFields: readonly (readonly [name: string, label: string])[] = [
  ["cost_min", "Cost from, $"],
  ["cost_max", "Cost up to, $"],
  ["latency_min", "Latency from, ms"],
  ["latency_max", "Latency up to, ms"],
];

function MoreFields({ view, keys }: { view: View; keys: readonly ApiKey[] | undefined }) {
  return (
    <>
      {textFilters.map((name) => <Input view={view} name={name} label={labelOf(name)} />)}
      {keys === undefined
        ? <Input view={view} name="key" label="API key's id" />
        : (
          <Labelled id="filter-key" label="API key">
            <select id="filter-key" name="key">
              <option value="">Any key</option>
              {keys.map(({ id, name }) => (
                <option value={id} selected={view.fields.get("key") === id}>{name}</option>
              ))}
            </select>
          </Labelled>
        )}
      {timeFields.map(([name, label]) => (
        <Labelled id={name} label={label}>
          <DayInput
            {...{ id: name, label, required: false, isTime: true }}
            value={textOf(view, name)}
          />
        </Labelled>
      ))}
      {rangeFields.map(([name, label]) => (
        <Input view={view} name={name} label={label} inputmode="decimal" />
      ))}
    </>
  );
}

function textOf({ fields, unused }: View, name: string): string {
  return fields.get(name) ?? unused.get(name) ?? "";
}

function Input({ view, name, label, ...attributes }: {
  view: View;
  name: string;
  label: string;
  inputmode?: "decimal";
}) {
  return (
    <Labelled id={`filter-${name}`} label={label}>
      <input
        type="text"
        dir="auto"
        id={`filter-${name}`}
        name={name}
        value={textOf(view, name)}
        autocomplete="off"
        {...attributes}
      />
    </Labelled>
  );
}

function Labelled({ id, label, children }: { id: string; label: string; children?: Child }) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children}
    </div>
  );
}

/** Keeps the further values of filters by several values: the form shows only the first. */
function FurtherValues({ view }: { view: View }) {
  return (
    <>
      {columnFilters.flatMap(({ name }) =>
        view.fields.getAll(name).slice(1).map((value) => (
          <input type="hidden" name={name} value={value} />
        ))
      )}
    </>
  );
}

function Problems({ view }: { view: View }) {
  if (view.problems.length === 0) return null;
  return (
    <div class="notice notice-failed" role="alert">
      {view.problems.map((problem) => <p>{problem}</p>)}
    </div>
  );
}

function Chips({ view }: { view: View }) {
  return (
    <div class="filter-line">
      <ul class="chips" aria-label="Active filters">
        {view.chips.map(({ label, value, without }) => (
          <FilterChip {...{ label, value }} without={viewAddress(listPath, without)} />
        ))}
        {view.chips.length > 1
          ? (
            <li>
              <a class="link" href={listPath}>Clear all</a>
            </li>
          )
          : null}
      </ul>
      <p class="live">
        <button type="button" class="button button-small live-switch" aria-pressed="true" hidden>
          <span class="live-dot" aria-hidden="true"></span> Live
        </button>
        <a class="button button-small live-reload" href={viewAddress(listPath, view.fields)}>
          Reload
        </a>
      </p>
    </div>
  );
}

/** A filter that is on; `without` is the address of the list without it. */
export function FilterChip(
  { label, value, without }: { label: string; value: string; without: string },
) {
  return (
    <li class="chip">
      <span>
        <span class="muted">{`${label} `}</span>
        {value}
      </span>
      <a href={without} title="Remove">
        <span aria-hidden="true">×</span>
        <span class="visually-hidden">{`Remove filter ${label} ${value}`}</span>
      </a>
    </li>
  );
}

function labelOf(name: FilterName): string {
  return columnFilters.find((one) => one.name === name)!.label;
}
