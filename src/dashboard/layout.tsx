import type { Child } from "hono/jsx";
import type { AssetName, Assets, SheetName } from "./assets.ts";
import { PostForm } from "./components.tsx";
import { exactTime } from "./format.ts";
import { entries, Icon, roleFor, type Section, sheetOf } from "./navigation.tsx";
import type { Notice } from "./notice.ts";
import { mayAs } from "../people/person.ts";
import type { Session } from "../people/session.ts";

/** A whole HTML document with its stylesheets and scripts. */
function Document({ title, policy, assets, class: className, sheet, scripts, children }: {
  title: string;
  /** What the page forbids in addition to the response's content security policy. */
  policy: string;
  assets: Assets;
  class: string;
  sheet?: SheetName | undefined;
  scripts?: readonly AssetName[] | undefined;
  children?: Child;
}) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content={policy} />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{`${title} · Demeter`}</title>
        <link rel="stylesheet" href={assets.address("style.css")} />
        {sheet === undefined ? null : <link rel="stylesheet" href={assets.address(sheet)} />}
        <link rel="icon" type="image/svg+xml" href={assets.address("favicon.svg")} />
        {["dashboard.js" as const, ...scripts ?? []].map((name) => (
          <script defer src={assets.address(name)}></script>
        ))}
      </head>
      <body class={className}>{children}</body>
    </html>
  );
}

export interface Frame {
  title: string;
  /** The title on the page itself, where names in it need a direction of their own. */
  heading?: Child;
  section: Section;
  /** The shown tab or session: it stands before the title in the browser's history. */
  tab?: string | undefined;
  /** The text under the title. */
  lead?: string | undefined;
  /** The page's one primary action. */
  action?: Child;
  /** Links to sibling pages. */
  tabs?: Child;
  /** The page's scripts besides the common one. */
  scripts?: readonly AssetName[] | undefined;
}

/** A page for people who are signed in. */
export function SignedIn({ frame, session, now, csrf, notice, assets, children }: {
  frame: Frame;
  session: Session;
  now: Date;
  csrf: string;
  notice: Notice | undefined;
  assets: Assets;
  children?: Child;
}) {
  const navigation = <Navigation section={frame.section} session={session} csrf={csrf} />;
  return (
    <Document
      title={frame.tab === undefined ? frame.title : `${frame.tab} · ${frame.title}`}
      policy="base-uri 'none'; form-action 'self'"
      assets={assets}
      class="app"
      sheet={sheetOf(frame.section)}
      scripts={frame.scripts}
    >
      <a class="skip" href="#content">Skip to content</a>
      <header class="topbar">
        <Brand />
        <details>
          <summary>Menu</summary>
          {navigation}
        </details>
      </header>
      <aside class="sidebar">
        <Brand />
        {navigation}
      </aside>
      <main id="content">
        <p class="printed">{`${session.account.name}, ${exactTime(now)}`}</p>
        <div class="title-row">
          <div>
            <h1>{frame.heading ?? frame.title}</h1>
            {frame.lead === undefined ? null : <p class="lead">{frame.lead}</p>}
          </div>
          {frame.action}
        </div>
        {frame.tabs}
        <NoticeLine notice={notice} />
        {children}
      </main>
    </Document>
  );
}

/** A page that needs no session: a card in the middle. `unsent`: `dashboard.js` keeps the form. */
export function Card({ title, assets, unsent, children }: {
  title: string;
  assets: Assets;
  unsent: boolean;
  children?: Child;
}) {
  return (
    // The form that starts a sign-in leads to the identity provider, and from there anywhere.
    <Document title={title} policy="base-uri 'none'" assets={assets} class="card-page">
      <main class="card" {...(unsent ? { "data-unsent": true } : {})}>
        <Brand />
        <h1>{title}</h1>
        {children}
      </main>
    </Document>
  );
}

function Brand() {
  return (
    <a class="brand" href="/dashboard">
      <svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true">
        <rect width="20" height="20" rx="5" class="brand-mark" />
        <path d="M5 6.5h4.5L12 10l-2.5 3.5H5M12 10h3.5" class="brand-line" />
      </svg>
      <span>Demeter</span>
    </a>
  );
}

function Navigation(
  { section, session, csrf }: { section: Section; session: Session; csrf: string },
) {
  return (
    <div class="navigation">
      <nav aria-label="Dashboard">
        <ul>
          {entries.filter((entry) => mayAs(session.role, roleFor(entry.section))).map((entry) => (
            <li>
              <a
                href={`/dashboard/${entry.section}`}
                {...(entry.section === section ? { "aria-current": "page" as const } : {})}
              >
                <Icon name={entry.icon} />
                {entry.title}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <AccountBox session={session} csrf={csrf} />
    </div>
  );
}

function AccountBox({ session, csrf }: { session: Session; csrf: string }) {
  const { account, accounts, person, role } = session;
  return (
    <div class="account">
      <p class="account-name">
        {account.name} <span class="muted">{role}</span>
      </p>
      <p class="muted account-person" title={person.email ?? person.name}>
        {person.email ?? person.name}
      </p>
      <PostForm action="/dashboard/sign-out" csrf={csrf}>
        <button type="submit" class="link">Sign out</button>
      </PostForm>
      {accounts.filter(({ id }) => id !== account.id).map((other) => (
        <PostForm action="/dashboard/account" csrf={csrf}>
          <input type="hidden" name="account" value={String(other.id)} />
          <button type="submit" class="link">{`Switch to ${other.name}`}</button>
        </PostForm>
      ))}
    </div>
  );
}

function NoticeLine({ notice }: { notice: Notice | undefined }) {
  if (notice?.kind !== "done" && notice?.kind !== "failed") return null;
  const isDone = notice.kind === "done";
  return (
    <p class={`notice notice-${notice.kind}`} role={isDone ? "status" : "alert"}>{notice.text}</p>
  );
}
