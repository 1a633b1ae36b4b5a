import type { SettledCall } from "../../shared/interaction.ts";
import type { Media, MediaStore } from "../../shared/media.ts";
import type { Queryable } from "../../database/database.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";

/** Media in the database, so that every replica has it. */
export function createMedia(database: Queryable): MediaStore {
  return {
    async find(accountId, sha256) {
      const [row] = await database.query(
        `select m.bytes, r.mime_type from media_refs r join media m using (sha256)
         where r.account_id = $1 and r.sha256 = $2 order by r.created_at desc limit 1`,
        [accountId, sha256],
      );
      return row && { bytes: Number(row.bytes), mimeType: String(row.mime_type) };
    },
    async read(sha256, from, length) {
      const [row] = await database.query(
        "select substring(content from $2::integer for $3::integer) as part from media where sha256 = $1",
        [sha256, from + 1, length],
      );
      return row ? row.part as Uint8Array : new Uint8Array();
    },
  };
}

/** Writes each medium once, and which rows refer to it; part of the rows' transaction. */
export async function insertMedia(tx: Queryable, rows: readonly SettledCall[]): Promise<void> {
  const named = rows.filter(({ media }) => media !== undefined && media.length > 0);
  if (named.length === 0) return;
  const all = new Map<string, Media>();
  for (const media of named.flatMap((row) => row.media!)) all.set(media.sha256, media);
  // Always in the same order, so that writers can't deadlock.
  const hashes = [...all.keys()].sort();
  // Locks existing media, so that it isn't erased before these rows refer to it.
  const stored = new Set(
    (await tx.query(
      "select sha256 from media where sha256 = any($1::text[]) order by sha256 for key share",
      [hashes],
    )).map((row) => String(row.sha256)),
  );
  for (const hash of hashes) {
    if (stored.has(hash)) continue;
    const { content } = all.get(hash)!;
    // Base64 is two thirds as long as hexadecimal.
    const [sent, value] = tx.sendsBytes
      ? ["$3::bytea", content]
      : ["decode($3::text, 'base64')", content.toBase64()];
    await tx.query(
      `insert into media (sha256, bytes, content) values ($1, $2, ${sent})
       on conflict (sha256) do update set bytes = excluded.bytes`,
      [hash, content.length, value],
    );
  }
  await tx.query(insertRefs, [JSON.stringify(named.flatMap(refsOf))]);
}

const insertRefs =
  `insert into media_refs (transaction_id, created_at, account_id, sha256, mime_type)
  select transaction_id, created_at, account_id, sha256, mime_type
    from json_to_recordset($1::text::json) as r(transaction_id text, created_at timestamptz,
      account_id bigint, sha256 text, mime_type text)
  on conflict do nothing`;

function refsOf(row: SettledCall): Record<string, unknown>[] {
  return row.media!.map(({ sha256, mimeType }) => ({
    transaction_id: row.transactionId,
    created_at: row.createdAt.toISOString(),
    account_id: row.accountId,
    sha256,
    mime_type: sanitizeText(mimeType),
  }));
}
