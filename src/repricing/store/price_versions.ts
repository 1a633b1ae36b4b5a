import type { PriceVersionStore } from "../price_archive.ts";
import type { Database } from "../../database/database.ts";

export function createPriceVersions(database: Database): PriceVersionStore {
  return {
    async keep(versions) {
      if (versions.length === 0) return;
      await database.query(
        `insert into price_versions (version, label, model, fields, source, checked_on)
         select version, label, model, fields, source, checked_on
         from json_to_recordset($1::text::json) as r(version text, label text, model text,
           fields text, source text, checked_on text)
         order by version on conflict (version) do nothing`,
        [JSON.stringify(versions.map((one) => ({
          ...{ version: one.version, label: one.label, model: one.model },
          ...{ fields: one.fieldsText, source: one.source, checked_on: one.checkedOn },
        })))],
      );
    },
    async find(version) {
      const [row] = await database.query(
        `select version, label, model, fields, source, checked_on, first_seen_at
         from price_versions where version = $1`,
        [version],
      );
      return row && {
        version: String(row.version),
        label: String(row.label),
        model: String(row.model),
        fieldsText: String(row.fields),
        source: String(row.source),
        checkedOn: row.checked_on as string | null,
        firstSeenAt: row.first_seen_at as Date,
      };
    },
  };
}
