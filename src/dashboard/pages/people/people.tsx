import type { Hono } from "hono";
import { inviteeOf, makeInvitation, readEmail } from "../../../people/invitation.ts";
import { type Person, type Refusal, type Role, roles } from "../../../people/person.ts";
import {
  action,
  NotFound,
  type Outcome,
  page,
  type PageContext,
  type PageRequest,
} from "../../bind.tsx";
import { PostForm } from "../../components.tsx";
import { type KeyRow, keyState } from "../../../keys/key_service.ts";
import { counted } from "../../amounts.ts";
import type { Form } from "../../form.ts";
import { peopleBody } from "./people_body.tsx";
import { settingsTabs } from "../settings/settings_tabs.tsx";

const address = "/dashboard/settings/people";

/** Who belongs to the account, in which role, and who is invited. */
export function peopleRoutes(app: Hono, ctx: PageContext): void {
  app.get(address, page(ctx, "viewer", (visit) => listPage(ctx, visit)));
  app.post(`${address}/invite`, action(ctx, "owner", (form, visit) => invite(ctx, form, visit)));
  app.post(
    `${address}/invitations/:id/withdraw`,
    action(ctx, "owner", async (_form, visit) => {
      const email = await ctx.people.withdraw(
        visit.session.account.id,
        visit.param("id"),
        (email) => visit.note("invitation.withdrawn", inviteeOf({ email })),
      );
      if (email === undefined) throw new NotFound();
      const text = `The invitation of ${inviteeOf({ email })} is withdrawn.`;
      return { to: address, notice: { kind: "done", text } };
    }),
  );
  app.post(
    `${address}/:id/role`,
    action(ctx, "owner", (form, visit) => change(ctx, form, visit)),
  );
  app.get(
    `${address}/:id/remove`,
    page(ctx, "owner", async (visit) => {
      const all = await ctx.people.list(visit.session.account.id);
      const member = all.find(({ person }) => person.id === visit.param("id"));
      if (!member) throw new NotFound();
      return {
        title: "Remove person",
        section: "settings",
        body: (
          <RemoveForm
            person={member.person}
            keys={await keysOf(ctx, visit, member.person.id)}
            csrf={visit.csrf}
          />
        ),
      };
    }),
  );
  app.post(
    `${address}/:id/remove`,
    action(ctx, "owner", (form, visit) => remove(ctx, form, visit)),
  );
}

async function remove(ctx: PageContext, form: Form, visit: PageRequest): Promise<Outcome> {
  const removed = await ctx.people.remove(
    visit.session.account.id,
    visit.param("id"),
    (person) => visit.note("person.removed", nameOf(person)),
    form.text("revoke_keys") === "yes"
      ? ({ name, prefix }) => visit.note("api_key.revoked", name, `${prefix}…, of who was removed`)
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

/** The keys in use that a person made. */
async function keysOf(ctx: PageContext, visit: PageRequest, personId: string): Promise<KeyRow[]> {
  const keys = await ctx.keys.list(visit.session.account.id);
  return keys.filter((key) =>
    key.madeBy?.id === personId && ["active", "expiring"].includes(keyState(key, visit.now))
  );
}

async function invite(ctx: PageContext, form: Form, visit: PageRequest): Promise<Outcome> {
  const email = readEmail(form.text("email"));
  const role = roleOf(form);
  if (!role || email === undefined) {
    const error = "Expected an e-mail address such as ann@example.com.";
    return { ...await listPage(ctx, visit, { email: form.text("email"), error }), status: 400 };
  }
  const { now } = visit;
  const { newId, baseUrl } = ctx;
  const { invitation, link } = makeInvitation({ email, role, now, newId, baseUrl });
  await ctx.people.invite(
    visit.session.account.id,
    invitation,
    visit.note("person.invited", email, `as ${role}`),
  );
  return { to: address, notice: { kind: "invitation", email, link } };
}

async function change(ctx: PageContext, form: Form, visit: PageRequest): Promise<Outcome> {
  const role = roleOf(form);
  if (!role) throw new NotFound();
  const changed = await ctx.people.changeRole(
    visit.session.account.id,
    visit.param("id"),
    role,
    (person) => visit.note("person.role_changed", nameOf(person), `to ${role}`),
  );
  if (typeof changed === "string") return refusal(changed);
  const name = nameOf(changed);
  return { to: address, notice: { kind: "done", text: `${name} is ${role} from now on.` } };
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
  return roles.find((one) => one === form.text("role"));
}

async function listPage(
  ctx: PageContext,
  visit: PageRequest,
  wrong?: { email: string; error: string },
) {
  const { id } = visit.session.account;
  const [members, invitations] = await Promise.all([
    ctx.people.list(id),
    ctx.people.invitations(id, visit.now),
  ]);
  return {
    title: "Settings",
    section: "settings" as const,
    tabs: settingsTabs("people"),
    body: peopleBody({ address, members, invitations, visit, wrong }),
  };
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
      <div class="buttons">
        <button type="submit" class="button button-danger">Remove</button>
        <a class="button" href={address}>Cancel</a>
      </div>
    </PostForm>
  );
}
