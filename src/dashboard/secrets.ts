import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
import { Buffer } from "node:buffer";

/** Returns the token for forms without an account; it is derived from the cookie, never stored. */
export function csrfOf(sessionToken: string): string {
  return derive(sessionToken, "form");
}

/**
 * Returns the token for a session's forms about an account. It is valid for that account only: a
 * form that was opened before the person switched accounts must not change the other account.
 */
export function accountCsrfOf(sessionToken: string, accountId: number): string {
  return derive(sessionToken, `form of account ${accountId}`);
}

/** The secrets of one sign-in, all derived from a secret in the browser's cookie. */
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

/** Encrypts a text for a cookie, so that only the same session can open it. */
export function sealFor(sessionToken: string, text: string): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", sealingKey(sessionToken), nonce);
  const sealed = [nonce, cipher.update(text, "utf8"), cipher.final()];
  return Buffer.concat([...sealed, cipher.getAuthTag()]).toString("base64url");
}

/** Decrypts a sealed text; undefined if it was changed or sealed for another session. */
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

/** Returns 43 characters of base64url, which is valid as a code verifier of RFC 7636. */
function derive(secret: string, use: string): string {
  return createHmac("sha256", secret).update(`dashboard ${use}, 1`).digest("base64url");
}

function sealingKey(sessionToken: string): Uint8Array {
  return createHmac("sha256", sessionToken).update("dashboard notice, 1").digest();
}
