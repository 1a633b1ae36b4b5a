/** Groups of the identity provider become roles (OAUTH_ROLE_CLAIM, OAUTH_ROLE_MAP). */
import assert from "@std/assert";
import { type RealProvider, startRealProvider } from "../browser/real_provider.ts";
import { type Answer, BrowserClient } from "../support/browser_client.ts";
import { shared, startTestService } from "../support/service.ts";
import { beginSignIn, signIn, startDashboard } from "./world.ts";

const roles = {
  OAUTH_ROLE_CLAIM: "groups",
  OAUTH_ROLE_MAP: "admins=owner, ml team=member,everyone=viewer",
};
const world = shared(() =>
  startDashboard({ env: { ...roles, OAUTH_ROLE_CLAIM: "realm_access.roles" } })
);

/** A person with these groups signs in at the simulated provider. */
async function signInAs(name: string, groups: unknown): Promise<Answer> {
  world().provider.become(name, `${name}@example.com`, { realm_access: { roles: groups } });
  return await signIn(world().browser());
}

/** The roles that the page on people shows, by address. */
async function rolesShown(): Promise<Map<string, string>> {
  world().provider.become("Ada Lovelace", "ada@example.com", { realm_access: { roles: "admins" } });
  const { text } = await (await world().owner()).get("/dashboard/settings/people");
  const rows = text.split("<tr").slice(1);
  return new Map(rows.flatMap((row) => {
    const [address] = /[a-z]+@example\.com/.exec(row) ?? [];
    const selected = /<option value="(owner|member|viewer)"[^>]* selected/.exec(row) ??
      /\b(Owner|Member|Viewer)\b/i.exec(row);
    return address ? [[address, selected?.[1]?.toLowerCase() ?? ""]] : [];
  }));
}

Deno.test("each sign-in gives the highest role of the person's groups, up and down", async () => {
  await rolesShown();
  const steps: [unknown, string][] = [
    [["everyone"], "viewer"],
    [["everyone", "ml team", "unknown"], "member"],
    ["admins", "owner"],
    [["everyone"], "viewer"],
    // Nothing that is mapped: it stays.
    [["unknown"], "viewer"],
    [[17, null, { admins: true }], "viewer"],
  ];
  for (const [groups, role] of steps) {
    const page = await signInAs("bea", groups);
    assert.equal(page.status, 200, JSON.stringify(groups));
    assert.equal((await rolesShown()).get("bea@example.com"), role, JSON.stringify(groups));
  }
  const { text } = await (await world().owner()).get("/dashboard/settings/audit");
  assert.match(text, /by the identity provider(&#39;|'|&apos;)s groups/);
});

Deno.test("after a lower role by groups, the page on people names the keys that can do more", async () => {
  const rowOf = (text: string) => text.split("<tr").find((row) => row.includes("dan@example.com"))!;
  await rolesShown();
  const owner = await world().owner();
  world().provider.become("dan", "dan@example.com", { realm_access: { roles: ["admins"] } });
  const dan = world().browser();
  await signIn(dan);
  const newKey = "/dashboard/keys/new";
  await dan.submit(newKey, newKey, { name: "dan's eraser", access: "all", expires: "never" });
  await rolesShown();
  assert.doesNotMatch(rowOf((await owner.get("/dashboard/settings/people")).text), /can do more/);
  await signInAs("dan", ["everyone"]);
  await rolesShown();
  const { text } = await owner.get("/dashboard/settings/people");
  assert.match(rowOf(text), /A key of theirs can do more: dan.*s eraser\./);
  assert.equal(text.match(/can do more/g)?.length, 1, "nobody else's");
});

Deno.test("nobody comes in by a group that has no role", async () => {
  for (const groups of [[], ["unknown"], "owner", ["constructor"], undefined]) {
    const page = await signInAs("eve", groups);
    assert.equal(page.status, 403, JSON.stringify(groups));
  }
  assert.equal((await rolesShown()).get("eve@example.com"), undefined);
});

Deno.test("the last owner stays owner, whatever the groups say", async () => {
  await using alone = await startDashboard({ env: roles });
  const owner = await alone.owner();
  alone.provider.become("Ada Lovelace", "ada@example.com", { groups: ["everyone"] });
  await signIn(alone.browser());
  assert.equal((await owner.get("/dashboard/settings/people")).status, 200);
});

/** A browser at the real provider, whose cookies are its own. */
class ProviderBrowser {
  readonly #cookies = new Map<string, string>();

  constructor(readonly issuer: string) {}

  /** Signs in under a name and agrees; gives the address that leads back to the service. */
  async signIn(address: string, name: string): Promise<string> {
    let at = address;
    let form: URLSearchParams | undefined;
    for (let step = 0; step < 20; step++) {
      const url = new URL(at, this.issuer);
      if (url.origin !== this.issuer) return url.href;
      const cookie = [...this.#cookies].map(([key, value]) => `${key}=${value}`).join("; ");
      const answer = await fetch(url, {
        redirect: "manual",
        headers: { cookie },
        ...(form ? { method: "POST", body: form } : {}),
      });
      for (const line of answer.headers.getSetCookie()) {
        const [, key = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
        this.#cookies.set(key, value);
      }
      const text = await answer.text();
      const location = answer.headers.get("location");
      form = undefined;
      if (location !== null) {
        at = location;
        continue;
      }
      const [, action] = /<form[^>]+action="([^"]+)"/.exec(text) ?? [];
      const [, prompt] = /name="prompt" value="([^"]+)"/.exec(text) ?? [];
      if (!action || !prompt) throw new Error(`No form at ${url.pathname}: ${answer.status}`);
      at = action;
      form = new URLSearchParams({
        prompt,
        ...(prompt === "login" ? { login: name, password: "x" } : {}),
      });
    }
    throw new Error("The provider never led back");
  }
}

async function arrive(browser: BrowserClient, provider: RealProvider, name: string) {
  const begun = await beginSignIn(browser);
  if (begun.location === undefined) throw new Error(`No sign-in begins: ${begun.status}`);
  const back = await new ProviderBrowser(provider.issuer).signIn(begun.location, name);
  return await browser.follow(back);
}

Deno.test("a real OpenID provider's groups decide who comes in, and as what, whichever key it signs with", async () => {
  const provider = await startRealProvider();
  try {
    await using service = await startTestService({
      env: {
        OAUTH_ISSUER: provider.issuer,
        OAUTH_CLIENT_ID: provider.clientId,
        OAUTH_CLIENT_SECRET: provider.clientSecret,
        ...roles,
      },
    });
    provider.register(`${service.baseUrl}/dashboard/callback`);
    provider.groups.set("root", ["admins", "everyone"]);
    provider.groups.set("vera", ["everyone"]);
    const owner = new BrowserClient(service.baseUrl);
    assert.equal((await arrive(owner, provider, "root")).status, 200);
    const viewer = new BrowserClient(service.baseUrl);
    assert.equal((await arrive(viewer, provider, "vera")).status, 200);
    const stranger = new BrowserClient(service.baseUrl);
    assert.equal((await arrive(stranger, provider, "mallory")).status, 403);
    assert.equal((await owner.get("/dashboard/settings/models/new")).status, 200);
    assert.equal((await viewer.get("/dashboard/settings/models/new")).status, 403);
    provider.groups.set("vera", ["admins"]);
    const again = new BrowserClient(service.baseUrl);
    assert.equal((await arrive(again, provider, "vera")).status, 200);
    assert.equal((await again.get("/dashboard/settings/models/new")).status, 200);
    // The provider changes its key.
    provider.register(`${service.baseUrl}/dashboard/callback`);
    const later = new BrowserClient(service.baseUrl);
    assert.equal((await arrive(later, provider, "vera")).status, 200);
  } finally {
    await provider.close();
  }
});
