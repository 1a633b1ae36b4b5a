import type { Child } from "hono/jsx";
import { exactTime, relativeTime } from "./format.ts";

/** A time relative to now, with the exact time as its tooltip. */
export function Time({ at, now }: { at: Date; now: Date }) {
  return (
    <time class="relative" datetime={at.toISOString()} title={exactTime(at)}>
      {relativeTime(at, now)}
    </time>
  );
}

/** Texts of callers in a row, each with its own direction: names in Hebrew would change places. */
export function Isolated(
  { texts, between }: { texts: readonly string[]; between: "," | "/" | "or" | "and" },
) {
  const separator = between === "," ? ", " : ` ${between} `;
  return (
    <>
      {texts.map((text, at) => (
        <>
          {at === 0 ? "" : separator}
          <bdi>{text}</bdi>
        </>
      ))}
    </>
  );
}

/** A table cell with a time; `label` names it where rows become cards. */
export function TimeCell({ label, ...props }: { at: Date; now: Date; label?: string }) {
  return (
    <td class="nowrap" {...(label === undefined ? {} : { "data-label": label })}>
      <Time {...props} />
    </td>
  );
}

export function Fact({ name, children }: { name: string; children?: Child }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

/** A fact in a box of its own, apart from the others. */
export function BoxedFact(props: { name: string; children?: Child }) {
  return (
    <div>
      <Fact {...props} />
    </div>
  );
}

/** A figure with its name and a hint; `exact` is the tooltip for a shortened value. */
export function Tile({ name, value, exact, level = 2, children }: {
  name: string;
  value: string;
  exact?: string;
  level?: 2 | 3;
  children?: Child;
}) {
  return (
    <div class="tile">
      {level === 2 ? <h2>{name}</h2> : <h3>{name}</h3>}
      <p class="tile-value" {...(exact === undefined ? {} : { title: exact })}>{value}</p>
      <p class="hint">{children}</p>
    </div>
  );
}

/** A link as a button in its own paragraph. */
export function LinkLine(
  { href, primary, children }: { href: string; primary?: boolean; children?: Child },
) {
  return (
    <p>
      <a class={primary ? "button button-primary" : "button"} href={href}>{children}</a>
    </p>
  );
}

/** A form that posts; `csrf` proves that one of our own pages sent it. */
export function PostForm({ action, csrf, class: className, children }: {
  action: string;
  csrf: string;
  class?: string;
  children?: Child;
}) {
  return (
    <form method="post" action={action} class={className ?? ""}>
      <input type="hidden" name="csrf" value={csrf} />
      {children}
    </form>
  );
}

export type Tone = "neutral" | "good" | "warn" | "bad";

export function Badge({ tone, children }: { tone: Tone; children?: Child }) {
  return <span class={`badge badge-${tone}`}>{children}</span>;
}

/** A button that copies a text; hidden until the script shows it, since it needs the script. */
export function CopyButton({ text, label, what }: { text: string; label?: string; what: string }) {
  return (
    <button type="button" class="button button-small" data-copy={text} hidden>
      {label ?? "Copy"}
      <span class="visually-hidden">{what}</span>
    </button>
  );
}

/** A link in the actions of a row; screen readers read `of` after its text. */
export function RowLink({ text, of, danger, ...link }: {
  href: string;
  text: string;
  of: string;
  danger?: boolean;
  download?: boolean;
}) {
  return (
    <a class={danger ? "button button-small button-danger" : "button button-small"} {...link}>
      {text}
      <span class="visually-hidden">{` ${of}`}</span>
    </a>
  );
}

/** A text to copy and paste elsewhere. */
export function Snippet({ title, text }: { title: string; text: string }) {
  return (
    <section class="snippet">
      <header>
        <h3>{title}</h3>
        <CopyButton text={text} what={title} />
      </header>
      <pre tabindex={0} aria-label={title}><code>{text}</code></pre>
    </section>
  );
}

/** Says that a value of the page's address was ignored, and what is shown instead. */
export function IgnoredValue({ problem, shown }: { problem: string | undefined; shown: string }) {
  if (problem === undefined) return null;
  return <p class="notice notice-failed" role="alert">{`${problem} ${shown}`}</p>;
}

/** Shown in place of an empty list: what it will hold, and the next step. */
export function Empty({ title, children }: { title: string; children?: Child }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** A table that scrolls sideways on narrow screens, by keyboard too. */
export function Table({ label, head, csv, cards, children }: {
  label: string;
  head: readonly (string | Column)[];
  /** Address of the table as a CSV file. */
  csv?: string;
  /** On phones each row becomes a card, with its cells labelled by their `data-label`. */
  cards?: boolean;
  children?: Child;
}) {
  const table = (
    <div
      class={cards ? "table table-cards" : "table"}
      role="region"
      aria-label={label}
      tabindex={0}
    >
      <table aria-label={label}>
        <thead>
          <tr>
            {head.map((column) => typeof column === "string" ? { title: column } : column)
              .map(({ title, class: className, hidden }: Column) => (
                <th scope="col" class={className ?? ""}>
                  {hidden ? <span class="visually-hidden">{title}</span> : title}
                </th>
              ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
  if (csv === undefined) return table;
  return (
    <div class="table-frame">
      {table}
      <p class="table-csv">
        <a href={csv} download>
          Download CSV<span class="visually-hidden">{` of ${label}`}</span>
        </a>
      </p>
    </div>
  );
}

/** A button that opens a list of files to download. */
export function DownloadMenu(
  { title, files }: { title: string; files: readonly { text: string; href: string }[] },
) {
  return (
    <details class="menu">
      <summary class="button">{title}</summary>
      <ul class="menu-items">
        {files.map(({ text, href }) => (
          <li>
            <a href={href} download>{text}</a>
          </li>
        ))}
      </ul>
    </details>
  );
}

export function numberColumn(title: string): Column {
  return { title, class: "number" };
}

/** The column of a row's actions: it stays in view, and only screen readers read its title. */
export function actionsColumn(title = "Actions"): Column {
  return { title, hidden: true, class: "actions" };
}

export interface Column {
  title: string;
  class?: string;
  /** Whether only screen readers get the title. */
  hidden?: boolean;
}

/** A form field: its label, its control, a hint, and the error if its value was refused. */
export function Field({ id, label, hint, error, children }: {
  id: string;
  label: string;
  hint?: string | undefined;
  error?: string | undefined;
  children?: Child;
}) {
  return (
    <div class={error === undefined ? "field" : "field field-wrong"}>
      <label for={id}>{label}</label>
      {children}
      {hint === undefined ? null : <p class="hint" id={`${id}-hint`}>{hint}</p>}
      {error === undefined ? null : <p class="error" id={`${id}-error`}>{error}</p>}
    </div>
  );
}

/** Returns the attributes that tie a control to its hint and error, for screen readers. */
export function describedBy(id: string, has: { hint?: boolean; error?: boolean }) {
  const ids = [has.error ? `${id}-error` : "", has.hint ? `${id}-hint` : ""].filter((one) =>
    one !== ""
  );
  return {
    ...(ids.length > 0 ? { "aria-describedby": ids.join(" ") } : {}),
    ...(has.error ? { "aria-invalid": "true" as const } : {}),
  };
}

/** The link to a list's next page; nothing if `href` is undefined. */
export function Older({ href }: { href: string | undefined }) {
  return href === undefined ? null : <LinkLine href={href}>Older</LinkLine>;
}

/** Links between the views of a page; `current` is the name of the shown one. */
export function Tabs({ label, class: className = "tabs", tabs, current }: {
  label: string;
  class?: string;
  tabs: readonly { name: string; title: string; href: string }[];
  current: string;
}) {
  return (
    <nav class={className} aria-label={label}>
      {tabs.map(({ name, title, href }) => (
        <a href={href} {...(name === current ? { "aria-current": "page" as const } : {})}>
          {title}
        </a>
      ))}
    </nav>
  );
}
