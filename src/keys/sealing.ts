import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
import { Buffer } from "node:buffer";
import { Secret } from "../base/secret.ts";

/** The place of a sealed value, which opens nowhere else. */
export interface SealedFor {
  accountId: number;
  vendor: string;
  keyVersion: bigint;
}

/**
 * A sealed value that doesn't open: it was changed, moved to another row, or sealed under another
 * master key. The message holds nothing of the value.
 */
export class UnsealError extends Error {
  override name = "UnsealError";
}

/** Describes the text of a master key, for error messages. */
export const masterKeyForm =
  "32 bytes in base64 (44 characters), such as 'openssl rand -base64 32' prints";

export function isMasterKey(text: Secret): boolean {
  return /^[A-Za-z0-9+/]{43}=$/.test(text.reveal());
}

/** 32 bytes that seal vendor keys with AES-256-GCM; prints without them. */
export class MasterKey {
  /** Tells master keys apart without giving one away: an HMAC under the key, 64 hex digits. */
  readonly fingerprint: string;
  readonly #text: Secret;
  readonly #sealingKey: Uint8Array;
  readonly #addressKey: Uint8Array;

  /** Takes 32 bytes in base64; throws an Error without the value when it is anything else. */
  constructor(text: Secret) {
    if (!isMasterKey(text)) throw new Error(`expected ${masterKeyForm}`);
    const bytes = Buffer.from(text.reveal(), "base64");
    this.#text = text;
    // Each use has its own key, so that neither reveals anything about the other.
    this.#sealingKey = derive(bytes, "vendor keys: AES-256-GCM, 1");
    this.#addressKey = derive(bytes, "signed addresses: HMAC-SHA-256, 1");
    this.fingerprint = derive(bytes, "vendor keys: fingerprint, 1").toString("hex");
  }

  static generate(): MasterKey {
    return new MasterKey(new Secret(randomBytes(32).toString("base64")));
  }

  /** The key itself in base64, for the file that keeps it. */
  text(): Secret {
    return this.#text;
  }

  /** Signs a URL of ours that admits whoever has it: an HMAC in base64url. */
  signAddress(address: string): string {
    return createHmac("sha256", this.#addressKey).update(address).digest("base64url");
  }

  /** Seals a value for one place. The nonce is random, so sealing it twice gives two texts. */
  seal(value: Secret, slot: SealedFor): string {
    const nonce = randomBytes(nonceLength);
    const cipher = createCipheriv(algorithm, this.#sealingKey, nonce);
    cipher.setAAD(boundTo(slot));
    const sealed = [nonce, cipher.update(value.reveal(), "utf8"), cipher.final()];
    return format + Buffer.concat([...sealed, cipher.getAuthTag()]).toString("base64url");
  }

  /** Returns the value that was sealed for this place. Throws `UnsealError`. */
  unseal(sealed: string, slot: SealedFor): Secret {
    if (!sealed.startsWith(format)) throw new UnsealError("the format is unknown");
    const text = sealed.slice(format.length);
    const bytes = Buffer.from(text, "base64url");
    // The decoder skips characters that it doesn't know, but a changed text must not open.
    if (bytes.toString("base64url") !== text || bytes.length < nonceLength + tagLength) {
      throw new UnsealError("the text is damaged");
    }
    const decipher = createDecipheriv(algorithm, this.#sealingKey, bytes.subarray(0, nonceLength), {
      authTagLength: tagLength,
    });
    decipher.setAAD(boundTo(slot));
    decipher.setAuthTag(bytes.subarray(-tagLength));
    try {
      const opened = decipher.update(bytes.subarray(nonceLength, -tagLength));
      return new Secret(Buffer.concat([opened, decipher.final()]).toString("utf8"));
    } catch {
      throw new UnsealError("it was changed, moved, or sealed under another master key");
    }
  }
}

const algorithm = "aes-256-gcm";
/** Version of the sealed text: base64url of nonce, ciphertext and tag. */
const format = "v1.";
const nonceLength = 12;
const tagLength = 16;

function derive(bytes: Uint8Array, use: string) {
  return createHmac("sha256", bytes).update(use).digest();
}

/**
 * Returns the bytes that bind a value to its place. JSON keeps the parts apart, so no two places
 * have the same.
 */
function boundTo({ accountId, vendor, keyVersion }: SealedFor): Uint8Array {
  const slot = ["vendor key", format, accountId, vendor, String(keyVersion)];
  return new TextEncoder().encode(JSON.stringify(slot));
}
