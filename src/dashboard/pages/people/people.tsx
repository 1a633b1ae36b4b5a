import { inviteeOf, makeInvitation, readEmail } from "../../../people/invitation.ts";
import { type Person, type Refusal, type Role, roles } from "../../../people/person.ts";
import {
  NotFound,
  type Outcome,
  type PageContext,
  type PageRequest,
  type Routes,
} from "../../bind.tsx";
import { PostForm } from "../../components.tsx";
import { FormButtons } from "../../fields.tsx";
import { type KeyRow, keyState } from "../../../keys/key_service.ts";
import { counted } from "../../amounts.ts";
import { csvFile } from "../../csv.ts";
import type { Form } from "../../form.ts";
import { peopleBody, viewerWithPayloads } from "./people_body.tsx";
import { settingsPage } from "../settings/settings_page.tsx";

const address = "/dashboard/settings/people";

/** Who belongs to the account, in which role, and who is invited. */
export function peopleRoutes(app: Routes, ctx: PageContext): void {
  app.get(address, "viewer", (request) => listPage(ctx, request));
  app.get(`${address}/csv`, "viewer", async (request) =>
    csvFile("people", {
      name: ({ person }) => person.name,
      email: ({ person }) => person.email,
      role: ({ role }) => role,
      sees_prompts: ({ role, payloads }) => role !== "viewer" || payloads,
      last_sign_in_at: ({ signedInAt }) => signedInAt,
    }, await ctx.people.list(request.session.account.id)));
  app.get(`${address}/invitations/csv`, "viewer", async (request) =>
    csvFile("invitations", {
      email: ({ email }) => email,
      role: ({ role }) => role,
      ends_at: ({ expiresAt }) => expiresAt,
    }, await ctx.people.invitations(request.session.account.id, request.now)));
  app.post(`${address}/invite`, "owner", (form, request) => invite(ctx, form, request));
  app.post(`${address}/invitations/:id/withdraw`, "owner", async (_form, request) => {
    const email = await ctx.people.withdraw(
      request.session.account.id,
      request.param("id"),
      (email) => request.note("invitation.withdrawn", inviteeOf({ email })),
    );
    if (email === undefined) throw new NotFound();
    const text = `The invitation of ${inviteeOf({ email })} is withdrawn.`;
    return { to: address, notice: { kind: "done", text } };
  });
  app.post(`${address}/:id/role`, "owner", (form, request) => change(ctx, form, request));
  app.get(`${address}/:id/remove`, "owner", async (request) => {
    const all = await ctx.people.list(request.session.account.id);
    const member = all.find(({ person }) => person.id === request.param("id"));
    if (!member) throw new NotFound();
    return {
      title: "Remove person",
      section: "settings",
      body: (
        <RemoveForm
          person={member.person}
          keys={await keysOf(ctx, request, member.person.id)}
          csrf={request.csrf}
        />
      ),
    };
  });
  app.post(`${address}/:id/remove`, "owner", (form, request) => remove(ctx, form, request));
}

async function remove(ctx: PageContext, form: Form, request: PageRequest): Promise<Outcome> {
  const removed = await ctx.people.remove(
    request.session.account.id,
    request.param("id"),
    (person) => request.note("person.removed", nameOf(person)),
    form.text("revoke_keys") === "yes"
      ? ({ name, prefix }) =>
        request.note("api_key.revoked", name, `${prefix}…, of who was removed`)
      : undefined,
  );
  if (typeof removed === "string") return refusal(removed);
  const { revokedKeyIds } = removed;
  ctx.keysChanged(revokedKeyIds);
  const keys = revokedKeyIds.length === 0
    ? "Keys they made go on working."
    : `${counted(revokedKeyIds.length, "key")} of theirs ${
      revokedKeyIds.length === 1 ? "is" : "are"
    } revoked.`;
  const text = `${nameOf(removed)} is removed and signed out. ${keys}`;
  return { to: address, notice: { kind: "done", text } };
}

async function keysOf(ctx: PageContext, request: PageRequest, personId: string): Promise<KeyRow[]> {
  const keys = await ctx.keys.list(request.session.account.id);
  return keys.filter((key) =>
    key.madeBy?.id === personId && ["active", "expiring"].includes(keyState(key, request.now))
  );
}

async function invite(ctx: PageContext, form: Form, request: PageRequest): Promise<Outcome> {
  const email = readEmail(form.text("email"));
  const role = roleOf(form);
  if (!role || email === undefined) {
    const error = "Expected an e-mail address such as ann@example.com.";
    return { ...await listPage(ctx, request, { email: form.text("email"), error }), status: 400 };
  }
  const { now } = request;
  const { newId, baseUrl } = ctx;
  const { invitation, link } = makeInvitation({ email, role, now, newId, baseUrl });
  await ctx.people.invite(
    request.session.account.id,
    invitation,
    request.note("person.invited", email, `as ${role}`),
  );
  return { to: address, notice: { kind: "invitation", email, link } };
}

async function change(ctx: PageContext, form: Form, request: PageRequest): Promise<Outcome> {
  const role = roleOf(form);
  if (!role) throw new NotFound();
  const payloads = form.text("role") === viewerWithPayloads;
  const roleText = payloads ? `${role} who sees prompts` : role;
  const changed = await ctx.people.changeRole(
    request.session.account.id,
    request.param("id"),
    role,
    (person) => request.note("person.role_changed", nameOf(person), `to ${roleText}`),
    payloads,
  );
  if (typeof changed === "string") return refusal(changed);
  const name = nameOf(changed);
  return { to: address, notice: { kind: "done", text: `${name} is ${roleText} from now on.` } };
}

function refusal(kind: Refusal): Outcome {
  if (kind === "not_found") throw new NotFound();
  const text = "An account needs an owner: make somebody else owner first.";
  return { to: address, notice: { kind: "failed", text } };
}

function nameOf({ email, name }: Person): string {
  return email ?? name;
}

function roleOf(form: Form): Role | undefined {
  const text = form.text("role");
  return text === viewerWithPayloads ? "viewer" : roles.find((one) => one === text);
}

async function listPage(
  ctx: PageContext,
  request: PageRequest,
  fieldErrors?: { email: string; error: string },
) {
  const { id } = request.session.account;
  const [members, invitations] = await Promise.all([
    ctx.people.list(id),
    ctx.people.invitations(id, request.now),
  ]);
  return settingsPage(
    "people",
    peopleBody({ address, members, invitations, request, fieldErrors }),
  );
}

function RemoveForm(
  { person, keys, csrf }: { person: Person; keys: readonly KeyRow[]; csrf: string },
) {
  return (
    <PostForm action={`${address}/${person.id}/remove`} csrf={csrf} class="panel">
      <p>
        <strong>{nameOf(person)}</strong>{" "}
        is signed out of this account at once. Keys they made or know go on working unless they are
        revoked.
      </p>
      {keys.length === 0 ? <p>They made none of the keys in use.</p> : (
        <label class="choice">
          <input type="checkbox" name="revoke_keys" value="yes" />{" "}
          {`Revoke the ${counted(keys.length, "key")} they made: ${
            keys.map(({ name, prefix }) => `${name} (${prefix}…)`).join(", ")
          }`}
        </label>
      )}
      <FormButtons back={address} tone="danger">Remove</FormButtons>
    </PostForm>
  );
}
