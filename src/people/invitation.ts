import { hashToken, newToken } from "./link_token.ts";
import { type Invitation, invitationMs, type Role } from "./person.ts";

/** Returns a new invitation to store, and its link, which is shown only once. */
export function makeInvitation({ email, role, now, newId, baseUrl }: {
  email: string;
  role: Role;
  now: Date;
  newId: () => string;
  /** Public address of the service, without a slash at its end. */
  baseUrl: string;
}): { invitation: Invitation & { tokenHash: string }; link: string } {
  const token = newToken();
  return {
    invitation: {
      ...{ id: newId(), email, role, tokenHash: hashToken(token), createdAt: now },
      expiresAt: new Date(now.getTime() + invitationMs),
    },
    link: `${baseUrl}/dashboard/invitation?token=${token}`,
  };
}

/** Describes, for people, whom an invitation is for. */
export function inviteeOf({ email }: Pick<Invitation, "email">): string {
  return email === "" ? "whoever has the link" : email;
}

/** The longest e-mail address (RFC 5321 §4.5.3.1.3, without its brackets). */
export const maxEmailChars = 254;

/** Returns the address in lower case; undefined if the text can't be an address. */
export function readEmail(text: string): string | undefined {
  const email = text.trim().toLowerCase();
  const [name = "", host = "", ...more] = email.split("@");
  const isOne = name !== "" && more.length === 0 && host.slice(1, -1).includes(".");
  return email.length <= maxEmailChars && isOne && !/\s/.test(email) ? email : undefined;
}
