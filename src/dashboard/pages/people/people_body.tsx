import { inviteeOf } from "../../../people/invitation.ts";
import { type Invitation, type Membership, roles } from "../../../people/person.ts";
import type { PageRequest } from "../../bind.tsx";
import { CopyButton, describedBy, Field, PostForm, Table, Time } from "../../components.tsx";

interface Props {
  address: string;
  members: readonly Membership[];
  invitations: readonly Invitation[];
  visit: PageRequest;
  /** An invitation that could not be made. */
  wrong: { email: string; error: string } | undefined;
}

/** The page about people. */
export function peopleBody({ address, members, invitations, visit, wrong }: Props) {
  const isOwner = visit.may("owner");
  return (
    <>
      <InvitationLink visit={visit} />
      <h2>People</h2>
      <p class="lead">
        Owners manage everything, members create and revoke keys, viewers look.
      </p>
      <Table
        label="People"
        head={[{ title: "Name" }, { title: "Role" }, { title: "Last sign-in" }, {
          title: "Actions",
          hidden: true,
        }]}
      >
        {members.map((member) => (
          <MemberLine address={address} member={member} visit={visit} isOwner={isOwner} />
        ))}
      </Table>
      {invitations.length === 0 ? null : (
        <>
          <h2>Invitations</h2>
          <Table
            label="Invitations"
            head={[{ title: "E-mail" }, { title: "Role" }, { title: "Ends" }, {
              title: "Actions",
              hidden: true,
            }]}
          >
            {invitations.map((one) => (
              <InvitationLine address={address} one={one} visit={visit} isOwner={isOwner} />
            ))}
          </Table>
        </>
      )}
      {isOwner ? <InviteForm address={address} csrf={visit.csrf} wrong={wrong} /> : null}
      <h2>Your sessions</h2>
      <PostForm action="/dashboard/sign-out-everywhere" csrf={visit.csrf} class="stack">
        <p class="lead">A session ends after 12 hours without use, and after a week.</p>
        <button type="submit" class="button">Sign out everywhere</button>
      </PostForm>
    </>
  );
}

function InvitationLink({ visit }: { visit: PageRequest }) {
  const { notice } = visit;
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

function MemberLine(
  { address, member, visit, isOwner }: {
    address: string;
    member: Membership;
    visit: PageRequest;
    isOwner: boolean;
  },
) {
  const { person, role } = member;
  const isSelf = person.id === visit.session.person.id;
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
            <PostForm action={`${address}/${person.id}/role`} csrf={visit.csrf} class="row">
              <select name="role" aria-label={`Role of ${person.name}`}>
                {roles.map((one) => <option value={one} selected={one === role}>{one}</option>)}
              </select>
              <button type="submit" class="button button-small">Save</button>
            </PostForm>
          )
          : role}
      </td>
      <td class="nowrap">
        <Time at={member.signedInAt} now={visit.now} />
      </td>
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

function InvitationLine(
  { address, one, visit, isOwner }: {
    address: string;
    one: Invitation;
    visit: PageRequest;
    isOwner: boolean;
  },
) {
  return (
    <tr>
      <td>{inviteeOf(one)}</td>
      <td>{one.role}</td>
      <td class="nowrap">
        <Time at={one.expiresAt} now={visit.now} />
      </td>
      <td class="actions">
        {isOwner
          ? (
            <PostForm action={`${address}/invitations/${one.id}/withdraw`} csrf={visit.csrf}>
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

function InviteForm(
  { address, csrf, wrong }: { address: string; csrf: string; wrong: Props["wrong"] },
) {
  return (
    <>
      <h2>Invite somebody</h2>
      <PostForm action={`${address}/invite`} csrf={csrf} class="inline panel">
        <Field
          id="email"
          label="E-mail"
          error={wrong?.error}
        >
          <input
            id="email"
            name="email"
            type="email"
            required
            maxlength={254}
            autocomplete="off"
            value={wrong?.email ?? ""}
            {...describedBy("email", { error: wrong !== undefined })}
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
