import type { Child } from "hono/jsx";
import { endings } from "./figures.ts";
import {
  columnFilters,
  type FilterName,
  listPath,
  presets,
  statuses,
  type View,
  viewAddress,
} from "./view.ts";

/** The filters: a form that works by its address, and those that are on. */
export function FilterForm(
  { view, vendors, keyNames, seesPayloads }: {
    seesPayloads: boolean;
    view: View;
    vendors: readonly string[];
    keyNames: ReadonlyMap<string, string>;
  },
) {
  return (
    <search class="filters">
      <form method="get" action={listPath} class="filter-form">
        {seesPayloads ? <SearchField view={view} /> : null}
        <Choice view={view} name="range" label="Time" any="Any time" options={timeOptions} />
        <Choice view={view} name="status" label="Status" any="Any status" options={statusOptions} />
        <Choice
          view={view}
          name="vendor"
          label="Vendor"
          any="Any vendor"
          options={vendors.map((label) => [label, label])}
        />
        <button type="submit" class="button">Apply</button>
        <details class="more-filters">
          <summary class="button">More filters</summary>
          <div class="filter-grid">
            <MoreFields view={view} keyNames={keyNames} />
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

/** Downloads of what the view shows. */
export function ExportMenu({ view }: { view: View }) {
  return (
    <details class="menu">
      <summary class="button">Export this view</summary>
      <ul class="menu-items">
        {(["json", "csv"] as const).map((format) => (
          <li>
            <a href={viewAddress(`${listPath}/export`, view.fields, { format })} download>
              {`As ${format.toUpperCase()}`}
            </a>
          </li>
        ))}
      </ul>
    </details>
  );
}

const timeOptions = presets.map(({ value, label }) => [value, label] as const);
const statusOptions = statuses.map((status) => [status, endings[status].label] as const);

function SearchField({ view }: { view: View }) {
  return (
    <div class="search-field">
      <label class="visually-hidden" for="filter-q">Words in requests and answers</label>
      <input
        type="search"
        id="filter-q"
        name="q"
        value={view.fields.get("q") ?? ""}
        placeholder="Search words, or a “phrase” in quotes"
        autocomplete="off"
        maxlength={500}
      />
    </div>
  );
}

function Choice(
  { view, name, label, any, options }: {
    view: View;
    name: string;
    label: string;
    any: string;
    options: readonly (readonly [value: string, label: string])[];
  },
) {
  const chosen = view.fields.get(name) ?? "";
  // What the account had once may be in an address, though it is no choice any more.
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

/** Fields of a span or range, by their names. */
const rangeFields: readonly (readonly [name: string, label: string])[] = [
  ["from", "From (UTC)"],
  ["to", "To (UTC)"],
  ["cost_min", "Cost from, $"],
  ["cost_max", "Cost up to, $"],
  ["latency_min", "Latency from, ms"],
  ["latency_max", "Latency up to, ms"],
];

function MoreFields(
  { view, keyNames }: { view: View; keyNames: ReadonlyMap<string, string> },
) {
  return (
    <>
      {textFilters.map((name) => <Input view={view} name={name} label={labelOf(name)} />)}
      <Labelled id="filter-key" label="API key">
        <select id="filter-key" name="key">
          <option value="">Any key</option>
          {[...keyNames].map(([id, name]) => (
            <option value={id} selected={view.fields.get("key") === id}>{name}</option>
          ))}
        </select>
      </Labelled>
      {rangeFields.map(([name, label]) => (
        <Input
          view={view}
          name={name}
          label={label}
          {...(name === "from" || name === "to"
            ? { type: "datetime-local" as const }
            : { inputmode: "decimal" as const })}
        />
      ))}
    </>
  );
}

function Input(
  { view, name, label, type = "text", ...attributes }: {
    view: View;
    name: string;
    label: string;
    type?: "text" | "datetime-local";
    inputmode?: "decimal";
  },
) {
  return (
    <Labelled id={`filter-${name}`} label={label}>
      <input
        type={type}
        id={`filter-${name}`}
        name={name}
        value={view.fields.get(name) ?? ""}
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

/** A filter by several values: the form shows one of them, and keeps the others. */
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
      <ul class="chips" aria-label="Filters that are on">
        {view.chips.map(({ label, value, without }) => (
          <li class="chip">
            <span>
              <span class="muted">{`${label} `}</span>
              {value}
            </span>
            <a href={viewAddress(listPath, without)} title="Take off">
              <span aria-hidden="true">×</span>
              <span class="visually-hidden">{`Remove filter ${label} ${value}`}</span>
            </a>
          </li>
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

function labelOf(name: FilterName): string {
  return columnFilters.find((one) => one.name === name)!.label;
}
