import type { Role } from "../people/person.ts";
import type { SheetName } from "./assets.ts";

/** Entries of the sidebar, in its order. A section's pages are under `/dashboard/<section>`. */
export const entries = [
  { section: "overview", title: "Overview", icon: "chart" },
  { section: "interactions", title: "Interactions", icon: "list" },
  { section: "keys", title: "API Keys", icon: "key" },
  { section: "playground", title: "Playground", icon: "bubble" },
  { section: "cohorts", title: "Cohorts", icon: "groups" },
  { section: "evals", title: "Evals", icon: "check" },
  { section: "exports", title: "Exports", icon: "download" },
  { section: "deletion", title: "Data deletion", icon: "trash" },
  { section: "settings", title: "Settings", icon: "sliders" },
] as const;

/** The role that a section's entry is shown to. */
export function roleFor(section: Section): Role {
  return section === "playground" ? "member" : "viewer";
}

export type Section = (typeof entries)[number]["section"];

/** The sheet of a section's pages. */
export function sheetOf(section: Section): SheetName {
  if (section === "interactions" || section === "overview" || section === "playground") {
    return `${section}.css`;
  }
  return "records.css";
}

/** Outlines of the icons on a field of 16 by 16. */
const icons = {
  chart: "M2.5 2.5v11h11M5.5 10.5v-3M8.5 10.5v-6M11.5 10.5V8",
  list: "M2.5 4h11M2.5 8h11M2.5 12h7",
  key: "M8.4 7.6 2.5 13.5m1.9-1.9 1.6 1.6m.5-3.7 1.5 1.5M13.5 5.5a3 3 0 1 1-6 0 3 3 0 0 1 6 0z",
  calendar: "M2.5 4.5h11v9h-11zM2.5 7.5h11M5.5 2.5v3M10.5 2.5v3",
  bubble: "M2.5 3.5h11v7.5H7.5L4.5 13.5V11h-2z",
  groups: "M6.5 8a3.5 3.5 0 1 0 0-.01M9.5 8a3.5 3.5 0 1 0 0 .01",
  check: "M2.5 8.5 6 12l7.5-8",
  download: "M8 2.5v7.5M4.8 7 8 10.2 11.2 7M2.5 13.5h11",
  trash: "M2.5 4.5h11M6 4.5v-2h4v2M4 4.5l.7 9h6.6l.7-9",
  sliders: "M2.5 4.5h6m3 0h2m-11 7h2m3 0h6M10 3v3M6 10v3",
} as const;

export function Icon({ name }: { name: keyof typeof icons }) {
  return (
    <svg width="16" height="16" viewBox="0 0 16 16" class="icon" aria-hidden="true">
      <path d={icons[name]} />
    </svg>
  );
}
