/** What providers say of a person's e-mail address, and whether it lets them in by their domain. */
import assert from "@std/assert";
import { shared } from "../support/service.ts";
import { signIn, startDashboard } from "./world.ts";

const world = shared(() =>
  startDashboard({
    env: {
      OAUTH_EMAIL_DOMAINS: "example.com",
      // Groups are in the user info alone, which is requested for them.
      OAUTH_ROLE_CLAIM: "groups",
      OAUTH_ROLE_MAP: "admins=owner",
    },
  })
);

const email = "bea@example.com";
const unsaid = undefined;
const none = { email: unsaid, email_verified: unsaid };

interface Said {
  token: Record<string, unknown>;
  userInfo: Record<string, unknown>;
  isIn: boolean;
}

const said: Readonly<Record<string, Said>> = {
  "Google, Keycloak: the ID token says all": {
    token: { email, email_verified: true, groups: [] },
    userInfo: none,
    isIn: true,
  },
  "Okta: the ID token has the address, the user info that it is verified": {
    token: { email, groups: [] },
    userInfo: { email, email_verified: true },
    isIn: true,
  },
  "Entra ID: neither says that it is verified": {
    token: { email, groups: [] },
    userInfo: { email, email_verified: unsaid },
    isIn: false,
  },
  "Authentik, Keycloak: it isn't verified": {
    token: { email, email_verified: false, groups: [] },
    userInfo: { email, email_verified: false },
    isIn: false,
  },
  "the ID token vouches for another address": {
    token: { email: "bea@elsewhere.example", email_verified: true },
    userInfo: { email, email_verified: unsaid },
    isIn: false,
  },
  "the ID token vouches for the address, and the user info has groups and another one": {
    token: { email, email_verified: true },
    userInfo: { email: "bea@elsewhere.example", email_verified: unsaid },
    isIn: true,
  },
  "the address has a character that no address has": {
    token: { email: "b\u0000ea@example.com", email_verified: true, name: "B\u0000ea" },
    userInfo: none,
    isIn: false,
  },
};

Deno.test("the audit log marks the name of a person without a verified address as a name", async () => {
  const owner = await world().owner();
  const name = "ada@example.com";
  const names = ["command line", name, "API key 'ci' (dmt_12345678…)", name];
  for (const [index, name] of names.entries()) {
    const email_verified = false;
    world().provider.become(name, `${index}@subject`, { email_verified }, {
      name,
      groups: "admins",
    });
    const browser = world().browser();
    await signIn(browser);
    const path = "/dashboard/settings/people";
    await browser.submit(path, `${path}/invite`, { email: "zoe@example.com", role: "viewer" });
  }
  const log = (await owner.get("/dashboard/settings/audit/csv")).text;
  const actors = log.split("\n").filter((line) => line.includes(",person.invited,"))
    .map((line) => line.split(",")[1]);
  assert.deepEqual(
    actors.map((actor) => actor!.replace(/…[0-9a-f]{8}/, "…")).reverse(),
    names.map((name) => `person '${name}' (…)`),
  );
  assert.equal(new Set(actors).size, names.length, "people of one name are told apart");
  const { text: people } = await owner.get("/dashboard/settings/people");
  for (const actor of actors) assert.ok(people.includes(/…[0-9a-f]{8}(?=\)$)/.exec(actor!)![0]));
});

for (const [name, { token, userInfo, isIn }] of Object.entries(said)) {
  Deno.test(name, async () => {
    await world().owner();
    world().provider.become("Bea", `${name}@subject`, userInfo, token);
    const { status, text } = await signIn(world().browser());
    assert.equal(status, isIn ? 200 : 403);
    if (isIn) assert.match(text, /title="bea@example.com"/);
  });
}
