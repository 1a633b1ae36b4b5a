import type { Child } from "hono/jsx";
import type { Page, PageRequest } from "../../bind.tsx";
import { Empty, LinkLine, Tabs } from "../../components.tsx";

const titles = {
  "vendor-keys": "Vendor API keys",
  models: "Virtual models",
  budgets: "Budgets",
  webhooks: "Webhooks",
  people: "People",
  limits: "Limits and credit",
  retention: "Retention",
  audit: "Audit log",
} as const;

type SettingsTab = keyof typeof titles;

const tabs = Object.entries(titles).map(([name, title]) => (
  { name, title, href: `/dashboard/settings/${name}` }
));

/** Returns a page of the settings, with tabs that link to the others. */
export function settingsPage(current: SettingsTab, { may }: PageRequest, body: Child): Page {
  // Addresses of webhooks may contain secrets: their page is the owners'.
  const shown = may("owner") ? tabs : tabs.filter(({ name }) => name !== "webhooks");
  return {
    title: "Settings",
    tab: titles[current],
    section: "settings",
    tabs: <Tabs label="Settings" tabs={shown} current={current} />,
    body,
  };
}

/** The contents of a settings page with a list. */
interface SettingsList {
  lead: string;
  /** The link to the form that adds to the list; undefined for people who may not add. */
  add: { href: string; text: string } | undefined;
  empty: { title: string; text: string };
  /** Null if the list is empty. */
  table: Child;
}

export function settingsList(
  current: SettingsTab,
  request: PageRequest,
  { lead, add, empty, table }: SettingsList,
): Page {
  return settingsPage(
    current,
    request,
    <>
      <h2>{titles[current]}</h2>
      <p class="lead">{lead}</p>
      {add ? <LinkLine href={add.href} primary>{add.text}</LinkLine> : null}
      {table ?? (
        <Empty title={empty.title}>
          <p>{empty.text}</p>
        </Empty>
      )}
    </>,
  );
}
