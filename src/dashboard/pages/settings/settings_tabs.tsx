const tabs = [
  ["vendor-keys", "Vendor API keys"],
  ["people", "People"],
  ["limits", "Limits and credit"],
  ["retention", "Retention"],
  ["audit", "Audit log"],
] as const;

/** The pages of the settings. */
export function settingsTabs(current: (typeof tabs)[number][0]) {
  return (
    <nav class="tabs" aria-label="Settings">
      {tabs.map(([name, title]) => (
        <a
          href={`/dashboard/settings/${name}`}
          {...(name === current ? { "aria-current": "page" as const } : {})}
        >
          {title}
        </a>
      ))}
    </nav>
  );
}
