import { inviteeOf } from "../../../people/invitation.ts";
import { type Invitation, type Membership, roles } from "../../../people/person.ts";
import type { PageRequest } from "../../bind.tsx";
import {
  actionsColumn,
  CopyButton,
  describedBy,
  Field,
  PostForm,
  Table,
  TimeCell,
} from "../../components.tsx";

/** The choice of a viewer who has the right to see payloads. */
export const viewerWithPayloads = "viewer+payloads";

interface Props {
  address: string;
  members: readonly Membership[];
  invitations: readonly Invitation[];
  request: PageRequest;
  /** An invitation that could not be made. */
  fieldErrors: { email: string; error: string } | undefined;
}

/** The page about people. */
export function peopleBody({ address, members, invitations, request, fieldErrors }: Props) {
  const isOwner = request.may("owner");
  return (
    <>
      <InvitationLink request={request} />
      <h2>People</h2>
      <p class="lead">
        Owners manage everything, members create and revoke keys, viewers look at figures and rows;
        prompts and answers they see where an owner lets them.
      </p>
      <Table
        label="People"
        head={["Name", "Role", "Last sign-in", actionsColumn()]}
        csv={`${address}/csv`}
        cards
      >
        {members.map((member) => (
          <MemberLine address={address} member={member} request={request} isOwner={isOwner} />
        ))}
      </Table>
      {invitations.length === 0 ? null : (
        <>
          <h2>Invitations</h2>
          <Table
            label="Invitations"
            head={["E-mail", "Role", "Ends", actionsColumn()]}
            csv={`${address}/invitations/csv`}
            cards
          >
            {invitations.map((one) => (
              <InvitationLine address={address} one={one} request={request} isOwner={isOwner} />
            ))}
          </Table>
        </>
      )}
      {isOwner
        ? <InviteForm address={address} csrf={request.csrf} fieldErrors={fieldErrors} />
        : null}
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
      <p>It works once, within a week, and is shown only now.</p>
      <div class="secret">
        <code id="invitation-link">{notice.link}</code>
        <CopyButton text={notice.link} what="the invitation link" />
      </div>
    </div>
  );
}

function MemberLine({ address, member, request, isOwner }: {
  address: string;
  member: Membership;
  request: PageRequest;
  isOwner: boolean;
}) {
  const { person, role, payloads } = member;
  const current = role === "viewer" && payloads ? viewerWithPayloads : role;
  const isSelf = person.id === request.session.person.id;
  return (
    <tr>
      <td class="name">
        {person.name} {isSelf ? <span class="muted">(you)</span> : null}
        {person.email !== null && person.email !== person.name
          ? <div class="muted">{person.email}</div>
          : null}
      </td>
      <td>
        {isOwner
          ? (
            <PostForm action={`${address}/${person.id}/role`} csrf={request.csrf} class="row">
              <select name="role" aria-label={`Role of ${person.name}`}>
                {[...roles, viewerWithPayloads].map((one) => (
                  <option value={one} selected={one === current}>
                    {one === viewerWithPayloads ? "viewer who sees prompts" : one}
                  </option>
                ))}
              </select>
              <button type="submit" class="button button-small">Save</button>
            </PostForm>
          )
          : current === viewerWithPayloads
          ? "viewer who sees prompts"
          : role}
      </td>
      <TimeCell at={member.signedInAt} now={request.now} />
      <td class="actions">
        {isOwner
          ? (
            <a class="button button-small button-danger" href={`${address}/${person.id}/remove`}>
              Remove<span class="visually-hidden">{` ${person.name}`}</span>
            </a>
          )
          : null}
      </td>
    </tr>
  );
}

function InvitationLine({ address, one, request, isOwner }: {
  address: string;
  one: Invitation;
  request: PageRequest;
  isOwner: boolean;
}) {
  return (
    <tr>
      <td>{inviteeOf(one)}</td>
      <td>{one.role}</td>
      <TimeCell at={one.expiresAt} now={request.now} />
      <td class="actions">
        {isOwner
          ? (
            <PostForm action={`${address}/invitations/${one.id}/withdraw`} csrf={request.csrf}>
              <button type="submit" class="button button-small">
                Withdraw<span class="visually-hidden">
                  {` the invitation of ${inviteeOf(one)}`}
                </span>
              </button>
            </PostForm>
          )
          : null}
      </td>
    </tr>
  );
}

function InviteForm({ address, csrf, fieldErrors }: {
  address: string;
  csrf: string;
  fieldErrors: Props["fieldErrors"];
}) {
  return (
    <>
      <h2>Invite somebody</h2>
      <PostForm action={`${address}/invite`} csrf={csrf} class="inline panel">
        <Field
          id="email"
          label="E-mail"
          error={fieldErrors?.error}
        >
          <input
            id="email"
            name="email"
            type="email"
            required
            maxlength={254}
            autocomplete="off"
            value={fieldErrors?.email ?? ""}
            {...describedBy("email", { error: fieldErrors !== undefined })}
          />
        </Field>
        <Field id="role" label="Role">
          <select id="role" name="role">
            {roles.map((one) => <option value={one} selected={one === "member"}>{one}</option>)}
          </select>
        </Field>
        <button type="submit" class="button">Create invitation</button>
      </PostForm>
    </>
  );
}
