import assert from "@std/assert";
import type { Role } from "../people/person.ts";
import { createDashboard } from "./app.tsx";
import type { DashboardDeps } from "./deps.ts";
import { accountCsrfOf } from "./secrets.ts";

/** What each role may do beyond the one above it here. A new page or form has to be added. */
const table: Readonly<Record<Role, readonly string[]>> = {
  viewer: [
    "POST /account",
    "GET /cohorts",
    "GET /cohorts/csv",
    "GET /cohorts/show",
    "GET /cohorts/show/csv",
    "GET /deletion",
    "GET /deletion/:id",
    "GET /deletion/:id/receipt.json",
    "GET /deletion/csv",
    "GET /evals",
    "GET /evals/:id",
    "GET /evals/:id/csv",
    "GET /evals/csv",
    "GET /exports",
    "GET /exports/csv",
    "GET /interactions",
    "GET /interactions/:id",
    "GET /interactions/:id/media/:index",
    "GET /interactions/:id/raw/:side",
    "GET /interactions/csv",
    "GET /interactions/newest",
    "GET /interactions/refused",
    "GET /interactions/refused/csv",
    "GET /keys",
    "GET /keys/:id",
    "GET /keys/csv",
    "GET /overview",
    "GET /overview/csv",
    "GET /overview/csv/steps",
    "GET /session",
    "GET /settings/audit",
    "GET /settings/audit/csv",
    "GET /settings/budgets",
    "GET /settings/budgets/csv",
    "GET /settings/limits",
    "GET /settings/limits/caps/csv",
    "GET /settings/limits/credit/csv",
    "GET /settings/models",
    "GET /settings/models/csv",
    "GET /settings/people",
    "GET /settings/people/csv",
    "GET /settings/people/invitations/csv",
    "GET /settings/retention",
    "GET /settings/retention/csv",
    "GET /settings/vendor-keys",
    "POST /sign-out",
    "POST /sign-out-everywhere",
  ],
  member: [
    "POST /evals/:id/cancel",
    "GET|POST /evals/new",
    "GET|POST /exports/:id/delete",
    "GET /exports/:id/file",
    "GET|POST /exports/new",
    "GET /interactions/export",
    "POST /keys/:id",
    "GET /keys/:id/created",
    "GET|POST /keys/:id/revoke",
    "GET|POST /keys/:id/rotate",
    "GET|POST /keys/new",
    "GET|POST /playground",
    "POST /playground/code",
    "POST /playground/stream",
  ],
  owner: [
    "POST /deletion",
    "GET|POST /deletion/new",
    "GET|POST /interactions/:id/delete",
    "GET|POST /settings/budgets/new",
    "GET|POST /settings/budgets/remove",
    "GET|POST /settings/models/change",
    "GET|POST /settings/models/new",
    "GET|POST /settings/models/remove",
    "GET|POST /settings/people/:id/remove",
    "POST /settings/people/:id/role",
    "POST /settings/people/invitations/:id/withdraw",
    "POST /settings/people/invite",
    "POST /settings/vendor-keys/:vendor",
    "GET|POST /settings/vendor-keys/:vendor/remove",
    "POST /settings/vendor-keys/:vendor/test",
    "GET /settings/webhooks",
    "GET /settings/webhooks/csv",
    "GET|POST /settings/webhooks/new",
    "GET|POST /settings/webhooks/remove",
    "POST /settings/webhooks/test",
  ],
};

/** Open to browsers that are not signed in, or only a redirect. */
const open = [
  "GET ",
  "GET /assets/:name",
  "GET /callback",
  "GET /claim",
  "GET /invitation",
  "GET|POST /join",
  "GET|POST /sign-in/link",
  "GET /settings",
  "GET /sign-in",
  "GET|POST /sign-in/start",
];

const account = { id: 1, name: "ours" };
const csrf = accountCsrfOf("token", account.id);

/** The whole dashboard; nothing stands behind its pages but a session of this role. */
function dashboardFor(role: Role | undefined) {
  const deps: Partial<Record<keyof DashboardDeps, unknown>> = {
    ...{ baseUrl: "http://localhost:80", hasLocalSignIn: true, allowedDomains: [] },
    signIn: { issuer: "http://localhost:1", clientId: "c", clientSecret: "s" },
    clock: { now: () => new Date(0), monotonicMs: () => 0 },
    log: { error: () => {} },
    sessions: {
      find: () =>
        role && {
          person: { id: "p", name: "Ann" },
          ...{ role, seesPayloads: true, account, accounts: [account] },
        },
    },
  };
  return createDashboard(deps as unknown as DashboardDeps);
}

async function answerTo(route: string, role: Role | undefined) {
  const [method, path] = route.split(" ") as [string, string];
  const answer = await dashboards.get(role)!.request(
    `http://localhost/dashboard${path.replaceAll(/:\w+/g, "x")}`,
    {
      method,
      headers: { cookie: "gateway_session_80=token" },
      ...(method === "POST" ? { body: new URLSearchParams({ csrf }) } : {}),
    },
  );
  const { status, headers } = answer;
  if (status === 403) return { status, text: await answer.text() };
  // A file that is allowed has nothing to read from.
  await answer.body?.cancel().catch(() => {});
  return { status, text: headers.get("location") ?? "" };
}

const roles = ["viewer", "member", "owner"] as const;
const dashboards = new Map([undefined, ...roles].map((role) => [role, dashboardFor(role)]));

/** One route for each method. */
function each(routes: readonly string[]): string[] {
  return routes.flatMap((route) => {
    const [methods, path] = route.split(" ") as [string, string];
    return methods.split("|").map((method) => `${method} ${path}`);
  });
}

Deno.test("every page and form of the dashboard stands in the table of roles", () => {
  const mounted = dashboards.get("owner")!.routes
    .filter(({ method, path }) => method !== "ALL" && /^\/dashboard(?!\/\*)/.test(path))
    .map(({ method, path }) => `${method} ${path.slice("/dashboard".length)}`);
  const listed = each([...open, ...Object.values(table).flat()]);
  assert.deepEqual(mounted.toSorted(), [...listed, ...pagesOfForms(listed)].toSorted());
});

/** Returns a GET for the address of each form that has no page of its own. */
function pagesOfForms(listed: readonly string[]): string[] {
  return listed.filter((route) => route.startsWith("POST "))
    .map((route) => route.replace("POST", "GET"))
    .filter((route) => !listed.includes(route));
}

Deno.test("the address of a form, where it is shown when it was refused, leads to its page", async () => {
  const listed = each(Object.values(table).flat());
  const pages = listed.filter((route) => route.startsWith("GET ")).map((route) =>
    route.slice("GET ".length).replaceAll(/:\w+/g, "x")
  );
  for (const route of pagesOfForms(listed)) {
    const { status, text } = await answerTo(route, "owner");
    assert.equal(status, 303, route);
    assert.ok(text === "/dashboard" || pages.includes(text.slice("/dashboard".length)), text);
  }
  const { text } = await answerTo("GET /settings/vendor-keys/:vendor/test", undefined);
  assert.equal(text, "/dashboard/settings/vendor-keys");
  const broken = await dashboards.get(undefined)!.request(
    "http://localhost/dashboard/evals/a%0D%0Ab/cancel",
  );
  assert.equal(broken.headers.get("location"), "/dashboard/evals/a%0D%0Ab", "as it was sent");
});

Deno.test("a page or form is refused below its role, and to whoever is not signed in", async () => {
  for (const [at, needed] of roles.entries()) {
    for (const route of each(table[needed])) {
      const unknown = await answerTo(route, undefined);
      assert.equal(unknown.status, 303, route);
      assert.match(unknown.text, /^\/dashboard\/sign-in/, route);
      for (const [its, role] of roles.entries()) {
        const { status, text } = await answerTo(route, role);
        const asked = `${route} by a ${role}`;
        if (its >= at) assert.notEqual(status, 403, asked);
        else {
          assert.equal(status, 403, asked);
          assert.ok(text.includes(`This takes the role ${needed}`), asked);
        }
      }
    }
  }
});
