import { Tabs } from "../../components.tsx";

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

const tabs = Object.entries(titles).map(([name, title]) => (
  { name, title, href: `/dashboard/settings/${name}` }
));

/** The pages of the settings. */
export function settingsTabs(current: keyof typeof titles) {
  return <Tabs label="Settings" tabs={tabs} current={current} />;
}
