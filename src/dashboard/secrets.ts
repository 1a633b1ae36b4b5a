import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
import { Buffer } from "node:buffer";

/** The token of forms that show no account; it follows from the cookie and isn't stored. */
export function csrfOf(sessionToken: string): string {
  return derive(sessionToken, "form");
}

/**
 * The token of a session's forms about an account. It is of no use in another one: a page that was
 * left open before the person switched accounts would change the one that is shown now.
 */
export function accountCsrfOf(sessionToken: string, accountId: number): string {
  return derive(sessionToken, `form of account ${accountId}`);
}

/** What one sign-in proves itself with; all of it follows from a secret in the browser's cookie. */
export interface FlowSecrets {
  state: string;
  nonce: string;
  codeVerifier: string;
}

export function flowSecrets(secret: string): FlowSecrets {
  return {
    state: derive(secret, "state"),
    nonce: derive(secret, "nonce"),
    codeVerifier: derive(secret, "code verifier"),
  };
}

/** Seals a text so that only the session's browser gets it back, in a cookie. */
export function sealFor(sessionToken: string, text: string): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", sealingKey(sessionToken), nonce);
  const sealed = [nonce, cipher.update(text, "utf8"), cipher.final()];
  return Buffer.concat([...sealed, cipher.getAuthTag()]).toString("base64url");
}

/** Undefined when the text was changed or sealed for another session. */
export function openFor(sessionToken: string, sealed: string): string | undefined {
  const bytes = Buffer.from(sealed, "base64url");
  if (bytes.length < 28) return undefined;
  const nonce = bytes.subarray(0, 12);
  const decipher = createDecipheriv("aes-256-gcm", sealingKey(sessionToken), nonce, {
    authTagLength: 16,
  });
  decipher.setAuthTag(bytes.subarray(-16));
  try {
    const opened = decipher.update(bytes.subarray(12, -16));
    return Buffer.concat([opened, decipher.final()]).toString("utf8");
  } catch {
    return undefined;
  }
}

/** 43 characters of base64url; RFC 7636 takes that as a code verifier. */
function derive(secret: string, use: string): string {
  return createHmac("sha256", secret).update(`dashboard ${use}, 1`).digest("base64url");
}

function sealingKey(sessionToken: string): Uint8Array {
  return createHmac("sha256", sessionToken).update("dashboard notice, 1").digest();
}
