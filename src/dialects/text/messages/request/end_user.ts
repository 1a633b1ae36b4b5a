import { asRecord, asString, innerJson, isRecord } from "../../../kernel/json.ts";

/** The end user and the session that a request names in `metadata.user_id`. */
interface NamedUser {
  user?: string;
  session?: string;
}

/**
 * Reads `metadata.user_id`. Claude Code sends a JSON text with device, account and session, its
 * older versions a plain text with the same three: the user is the account, or else the device.
 * Kimi Code sends its session alone, by the name with which it resumes it.
 */
export function readEndUser(metadata: unknown): NamedUser {
  const value = asString(asRecord(metadata).user_id);
  if (value === undefined) return {};
  const found = fromJson(value) ?? fromWords(value);
  if (!found) return { user: value };
  const user = found.account || found.device;
  return {
    ...(user ? { user } : {}),
    ...(found.session && found.session.length <= longestSession ? { session: found.session } : {}),
  };
}

/** The maximum length of `X-Session-ID`. */
const longestSession = 256;
const longestJson = 4_096;

interface Named {
  device: string | undefined;
  account: string | undefined;
  session: string | undefined;
}

function fromJson(value: string): Named | undefined {
  if (!value.startsWith("{") || value.length > longestJson) return undefined;
  const json = innerJson(value);
  if (!isRecord(json) || asString(json.session_id) === undefined) return undefined;
  return {
    device: asString(json.device_id),
    account: asString(json.account_uuid),
    session: asString(json.session_id),
  };
}

function fromWords(value: string): Named | undefined {
  if (/^session_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value)) {
    return { device: undefined, account: undefined, session: value };
  }
  const read = /^user_([0-9a-f]{1,64})_account_([0-9a-f-]{0,64})_session_([0-9a-f-]{1,64})$/
    .exec(value);
  return read ? { device: read[1], account: read[2], session: read[3] } : undefined;
}
