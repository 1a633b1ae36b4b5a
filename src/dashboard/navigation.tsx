import type { SheetName } from "./assets.ts";

/** Entries of the sidebar, in its order. */
export const entries = [
  {
    section: "overview",
    title: "Overview",
    href: "/dashboard/overview",
    icon: "chart",
    role: "viewer",
  },
  {
    section: "interactions",
    title: "Interactions",
    href: "/dashboard/interactions",
    icon: "list",
    role: "viewer",
  },
  { section: "keys", title: "API Keys", href: "/dashboard/keys", icon: "key", role: "viewer" },
  {
    section: "playground",
    title: "Playground",
    href: "/dashboard/playground",
    icon: "bubble",
    role: "member",
  },
  {
    section: "cohorts",
    title: "Cohorts",
    href: "/dashboard/cohorts",
    icon: "groups",
    role: "viewer",
  },
  { section: "evals", title: "Evals", href: "/dashboard/evals", icon: "check", role: "viewer" },
  {
    section: "exports",
    title: "Exports",
    href: "/dashboard/exports",
    icon: "download",
    role: "viewer",
  },
  {
    section: "deletion",
    title: "Data deletion",
    href: "/dashboard/deletion",
    icon: "trash",
    role: "viewer",
  },
  {
    section: "settings",
    title: "Settings",
    href: "/dashboard/settings",
    icon: "sliders",
    role: "viewer",
  },
] as const;

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
