import { idEnd, personText } from "../../../audit/audit.ts";
import { inviteeOf, makeInvitation, readEmail } from "../../../people/invitation.ts";
import {
  type Invitation,
  mayAs,
  type Membership,
  type Person,
  type Refusal,
  type Role,
  roles,
} from "../../../people/person.ts";
import {
  NotFound,
  orNotFound,
  type Outcome,
  type PageContext,
  type PageRequest,
  type Routes,
} from "../../bind.tsx";
import {
  actionsColumn,
  CopyButton,
  describedBy,
  Field,
  LinkLine,
  PostForm,
  RowLink,
  Table,
  TimeCell,
} from "../../components.tsx";
import { confirmationRoutes } from "../../confirmation.tsx";
import type { MadeKey } from "../../../keys/key_service.ts";
import { requiresOwner } from "../../../keys/scopes.ts";
import { counted } from "../../amounts.ts";
import { allPages } from "../../../base/all_pages.ts";
import { csvFile } from "../../csv.ts";
import type { Form } from "../../form.ts";
import { shortText } from "../../format.ts";
import { readTimeCursor, timeCursor } from "../../time_cursor.ts";
import { settingsPage } from "../settings/settings_page.tsx";

const address = "/dashboard/settings/people";
const pageRows = 50;

/** The option for a viewer who may see payloads. */
const viewerWithPayloads = "viewer+payloads";

/** The page about people: the account's members with their roles, and its invitations. */
export function peopleRoutes(app: Routes, ctx: PageContext): void {
  app.get(address, "viewer", (request) => listPage(ctx, request));
  app.get(`${address}/csv`, "viewer", (request) => {
    const read = (after: Membership | undefined, limit: number) =>
      ctx.people.list(request.accountId, { after, limit });
    return csvFile("people", {
      person_id: ({ person }) => person.id,
      name: ({ person }) => person.name,
      email: ({ person }) => person.email,
      role: ({ role }) => role,
      sees_prompts: ({ role, payloads }) => role !== "viewer" || payloads,
      last_sign_in_at: ({ signedInAt }) => signedInAt,
    }, allPages(read));
  });
  app.get(`${address}/invitations/csv`, "viewer", (request) => {
    const read = (after: Invitation | undefined, limit: number) =>
      ctx.people.invitations(request.accountId, request.now, { after, limit });
    return csvFile("invitations", {
      email: ({ email }) => email,
      role: ({ role }) => role,
      ends_at: ({ expiresAt }) => expiresAt,
    }, allPages(read));
  });
  app.post(`${address}/invite`, "owner", (form, request) => invite(ctx, form, request));
  app.post(`${address}/invitations/:id/withdraw`, "owner", async (_form, request) => {
    const email = await ctx.people.withdraw(
      request.accountId,
      request.param("id"),
      (email) => request.note("invitation.withdrawn", inviteeOf({ email })),
    );
    if (email === undefined) throw new NotFound();
    const text = `The invitation of ${inviteeOf({ email })} is withdrawn.`;
    return { to: address, notice: { kind: "done", text } };
  });
  app.post(`${address}/:id/role`, "owner", (form, request) => change(ctx, form, request));
  confirmationRoutes(app, {
    ...{ path: `${address}/:id/remove`, back: address, role: "owner", section: "settings" },
    ...{ title: "Remove person", button: "Remove" },
    async find(request) {
      const { accountId } = request;
      const { person } = orNotFound(await ctx.people.findMember(accountId, request.param("id")));
      return { person, keys: await ctx.keys.madeBy(accountId, [person.id]) };
    },
    consequence: (found) => <Removal {...found} />,
    act: ({ person }, request, form) => remove(ctx, form, request, person.id),
  });
}

function withWithdrawn(detail: string, isWithdrawn: boolean): string {
  return isWithdrawn ? `${detail}; their invitation is withdrawn` : detail;
}

async function remove(
  ctx: PageContext,
  form: Form,
  request: PageRequest,
  personId: string,
): Promise<Outcome> {
  const removed = await ctx.people.remove(
    request.accountId,
    personId,
    (person, { was, isWithdrawn }) =>
      request.note("person.removed", personText(person), withWithdrawn(`was ${was}`, isWithdrawn)),
    form.text("revoke_keys") === "yes"
      ? ({ name, prefix }) =>
        request.note("api_key.revoked", name, `${prefix}…, key of the removed person`)
      : null,
  );
  if (typeof removed === "string") return refusal(removed);
  const { revokedKeyIds } = removed;
  ctx.keysChanged(revokedKeyIds);
  const keys = revokedKeyIds.length === 0
    ? "Keys they created keep working."
    : `${counted(revokedKeyIds.length, "key")} of theirs ${
      revokedKeyIds.length === 1 ? "is" : "are"
    } revoked.`;
  const text = `${nameOf(removed)} is removed and signed out. ${keys}`;
  return { to: address, notice: { kind: "done", text } };
}

async function invite(ctx: PageContext, form: Form, request: PageRequest): Promise<Outcome> {
  const email = readEmail(form.text("email"));
  const role = roleOf(form);
  if (!role || email === undefined) {
    const error = "Expected an e-mail address such as ann@example.com.";
    const refused = { email: form.text("email"), role: role ?? defaultRole, error };
    return { ...await listPage(ctx, request, refused), status: 400 };
  }
  const { now } = request;
  const { newId, baseUrl } = ctx;
  const { invitation, link } = makeInvitation({ email, role, now, newId, baseUrl });
  const note = request.note("person.invited", email, `as ${role}`);
  await ctx.people.invite(request.accountId, invitation, note);
  return { to: address, notice: { kind: "invitation", email, link } };
}

async function change(ctx: PageContext, form: Form, request: PageRequest): Promise<Outcome> {
  const role = roleOf(form);
  if (!role) throw new NotFound();
  const payloads = form.text("role") === viewerWithPayloads;
  const roleText = payloads ? `${role} who sees prompts` : role;
  const changed = await ctx.people.changeRole(
    request.accountId,
    request.param("id"),
    role,
    (person, { was, isWithdrawn }) => {
      const detail = withWithdrawn(`from ${was} to ${roleText}`, isWithdrawn);
      return request.note("person.role_changed", personText(person), detail);
    },
    payloads,
  );
  if (typeof changed === "string") return refusal(changed);
  const keys = await ctx.keys.madeBy(request.accountId, [changed.id]);
  const text = `${nameOf(changed)} is ${roleText} from now on. ${keysBeyond(role, keys)}`.trimEnd();
  return { to: address, notice: { kind: "done", text } };
}

/** Names the keys that a person with this role could not have made; they keep working. */
function keysBeyond(role: Role, keys: readonly MadeKey[]): string {
  const beyond = keys.filter(({ scopes }) =>
    !mayAs(role, requiresOwner(scopes) ? "owner" : "member")
  );
  if (beyond.length === 0) return "";
  const names = namesOf(beyond, ({ name }) => shortText(name, shownUnits));
  const subject = beyond.length === 1 ? "A key" : counted(beyond.length, "key");
  return `${subject} of theirs can do more: ${names}. Revoke what they should not keep.`;
}

/** Names the first few keys, and counts the others. */
function namesOf(keys: readonly MadeKey[], nameOf: (key: MadeKey) => string): string {
  const more = keys.length - shownKeys;
  const others = more > 0 ? `, and ${counted(more, "other")}` : "";
  return keys.slice(0, shownKeys).map(nameOf).join(", ") + others;
}

/** The most names in a notice, which travels in a cookie: browsers drop those of more than 4 KB. */
const shownKeys = 5;
const shownUnits = 60;

function refusal(kind: Refusal): Outcome {
  if (kind === "not_found") throw new NotFound();
  const text = "An account needs an owner: make someone else an owner first.";
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
  refused?: Props["refused"],
) {
  const { accountId } = request;
  const cursor = readTimeCursor(request.query("after"));
  const invited = readTimeCursor(request.query("invited_after"));
  const [found, open] = await Promise.all([
    ctx.people.list(accountId, {
      limit: pageRows + 1,
      after: cursor && { createdAt: cursor.at, person: { id: cursor.id } },
    }),
    ctx.people.invitations(accountId, request.now, {
      limit: pageRows + 1,
      after: invited && { createdAt: invited.at, id: invited.id },
    }),
  ]);
  const members = found.slice(0, pageRows);
  const hasMore = found.length > pageRows;
  const invitations = open.slice(0, pageRows);
  const lastInvitation = open.length > pageRows ? invitations.at(-1) : undefined;
  // Owners may do everything: no key of theirs can do more.
  const others = members.filter(({ role }) => role !== "owner").map(({ person }) => person.id);
  const keys = request.may("owner") ? await ctx.keys.madeBy(accountId, others) : [];
  return settingsPage(
    "people",
    request,
    <PeopleBody
      {...{ members, hasMore, invitations, lastInvitation, keys, request, refused }}
    />,
  );
}

interface Props {
  members: readonly Membership[];
  /** Whether there is a further page of members. */
  hasMore: boolean;
  invitations: readonly Invitation[];
  /** The invitation after which there are more; undefined: these are all. */
  lastInvitation: Invitation | undefined;
  /** The working keys of these members, for owners. */
  keys: readonly MadeKey[];
  request: PageRequest;
  /** A refused invitation, to show in its form again. */
  refused: { email: string; role: Role; error: string } | undefined;
}

const defaultRole: Role = "member";

function PeopleBody(
  { members, hasMore, invitations, lastInvitation, keys, request, refused }: Props,
) {
  const isOwner = request.may("owner");
  const last = hasMore ? members.at(-1) : undefined;
  const byMaker = Map.groupBy(keys, ({ personId }) => personId);
  const actions = isOwner ? [actionsColumn()] : [];
  return (
    <>
      <InvitationLink request={request} />
      <h2>People</h2>
      <p class="lead">
        Owners manage everything, members create and revoke keys, viewers see figures and rows.
        Prompts and answers are hidden from viewers unless an owner shows them.
      </p>
      <Table
        label="People"
        head={["Name", "Role", "Last sign-in", ...actions]}
        csv={`${address}/csv`}
        cards
      >
        {members.map((member) => (
          <MemberLine
            member={member}
            keys={byMaker.get(member.person.id) ?? []}
            request={request}
            isOwner={isOwner}
          />
        ))}
      </Table>
      {last === undefined
        ? null
        : (
          <LinkLine href={`${address}?after=${timeCursor(last.createdAt, last.person.id)}`}>
            More people
          </LinkLine>
        )}
      {invitations.length === 0 ? null : (
        <>
          <h2>Invitations</h2>
          <Table
            label="Invitations"
            head={["E-mail", "Role", "Ends", ...actions]}
            csv={`${address}/invitations/csv`}
            cards
          >
            {invitations.map((one) => (
              <InvitationLine one={one} request={request} isOwner={isOwner} />
            ))}
          </Table>
          {lastInvitation === undefined ? null : (
            <LinkLine
              href={`${address}?invited_after=${
                timeCursor(lastInvitation.createdAt, lastInvitation.id)
              }`}
            >
              More invitations
            </LinkLine>
          )}
        </>
      )}
      {isOwner ? <InviteForm csrf={request.csrf} refused={refused} /> : null}
      <h2>Your sessions</h2>
      <PostForm action="/dashboard/sign-out-everywhere" csrf={request.csrf} class="stack">
        <p class="lead">A session ends after 12 hours without use, and after a week.</p>
        <button type="submit" class="button">Sign out everywhere</button>
      </PostForm>
    </>
  );
}

function InvitationLink({ request }: { request: PageRequest }) {
  const { notice } = request;
  if (notice?.kind !== "invitation") return null;
  return (
    <div class="panel panel-key" role="status">
      <h2>Send this link to {notice.email}</h2>
      <p>It works once, within a week, and is shown only once.</p>
      <div class="secret">
        <code id="invitation-link">{notice.link}</code>
        <CopyButton text={notice.link} what="the invitation link" />
      </div>
    </div>
  );
}

function MemberLine({ member, keys, request, isOwner }: {
  member: Membership;
  keys: readonly MadeKey[];
  request: PageRequest;
  isOwner: boolean;
}) {
  const { person, role, payloads } = member;
  const current = role === "viewer" && payloads ? viewerWithPayloads : role;
  const isSelf = person.id === request.session.person.id;
  const beyond = keysBeyond(role, keys);
  return (
    <tr>
      <td class="name">
        {person.name} {isSelf ? <span class="muted">(you)</span> : null}
        {person.email === null
          ? <code class="muted">{`…${idEnd(person.id)}`}</code>
          : person.email === person.name
          ? null
          : <div class="muted">{person.email}</div>}
      </td>
      <td data-label="Role">
        {isOwner
          ? (
            <PostForm action={`${address}/${person.id}/role`} csrf={request.csrf} class="row">
              <select name="role" aria-label={`Role of ${person.name}`}>
                {[...roles, viewerWithPayloads].map((one) => (
                  <option value={one} selected={one === current}>{roleText(one)}</option>
                ))}
              </select>
              <button type="submit" class="button button-small">Save</button>
            </PostForm>
          )
          : roleText(current)}
        {beyond === "" ? null : <div class="muted">{beyond}</div>}
      </td>
      <TimeCell label="Last sign-in" at={member.signedInAt} now={request.now} />
      {isOwner
        ? (
          <td class="actions">
            <RowLink
              href={`${address}/${person.id}/remove`}
              text="Remove"
              of={person.name}
              danger
            />
          </td>
        )
        : null}
    </tr>
  );
}

function roleText(choice: string): string {
  return choice === viewerWithPayloads ? "viewer who sees prompts" : choice;
}

function InvitationLine({ one, request, isOwner }: {
  one: Invitation;
  request: PageRequest;
  isOwner: boolean;
}) {
  return (
    <tr>
      <td class="name">{inviteeOf(one)}</td>
      <td data-label="Role">{one.role}</td>
      <TimeCell label="Ends" at={one.expiresAt} now={request.now} />
      {isOwner
        ? (
          <td class="actions">
            <PostForm action={`${address}/invitations/${one.id}/withdraw`} csrf={request.csrf}>
              <button type="submit" class="button button-small">
                Withdraw<span class="visually-hidden">
                  {` the invitation of ${inviteeOf(one)}`}
                </span>
              </button>
            </PostForm>
          </td>
        )
        : null}
    </tr>
  );
}

function InviteForm({ csrf, refused }: { csrf: string; refused: Props["refused"] }) {
  return (
    <>
      <h2>Invite someone</h2>
      <PostForm action={`${address}/invite`} csrf={csrf} class="inline panel">
        <Field id="email" label="E-mail" error={refused?.error}>
          <input
            id="email"
            name="email"
            type="email"
            required
            maxlength={254}
            autocomplete="off"
            value={refused?.email ?? ""}
            {...describedBy("email", { error: refused !== undefined })}
          />
        </Field>
        <Field id="role" label="Role">
          <select id="role" name="role">
            {roles.map((one) => (
              <option value={one} selected={one === (refused?.role ?? defaultRole)}>{one}</option>
            ))}
          </select>
        </Field>
        <button type="submit" class="button">Create invitation</button>
      </PostForm>
    </>
  );
}

function Removal({ person, keys }: { person: Person; keys: readonly MadeKey[] }) {
  return (
    <>
      <p>
        <strong>{nameOf(person)}</strong>{" "}
        is signed out of this account at once. Keys they made or know go on working unless they are
        revoked.
      </p>
      {keys.length === 0 ? <p>They created none of the keys in use.</p> : (
        <label class="choice">
          <input type="checkbox" name="revoke_keys" value="yes" />{" "}
          {`Revoke the ${counted(keys.length, "key")} they made: ${
            namesOf(keys, ({ name, prefix }) => `${name} (${prefix}…)`)
          }`}
        </label>
      )}
    </>
  );
}
