import { adminScope } from "../../../../contracts/kernel/contract.ts";
import type { ApiKey } from "../../../keys/api_key.ts";
import { mintKey } from "../../../keys/credential.ts";
import { grantText } from "../../../keys/key_audit.ts";
import {
  type KeyFilter,
  type KeyRow,
  type KeyState,
  keyState,
  rotationDue,
} from "../../../keys/key_service.ts";
import {
  orNotFound,
  type Outcome,
  type Page,
  type PageContext,
  type PageRequest,
  redirect,
  type Routes,
} from "../../bind.tsx";
import {
  actionsColumn,
  Badge,
  Empty,
  LinkLine,
  Older,
  PostForm,
  RowLink,
  Table,
  Time,
  type Tone,
} from "../../components.tsx";
import { requiresOwner } from "../../../keys/scopes.ts";
import { Caps } from "../../caps.tsx";
import { confirmationRoutes } from "../../confirmation.tsx";
import { allPages } from "../../../base/all_pages.ts";
import { type CsvColumns, csvFile, mapPages } from "../../csv.ts";
import { FormButtons } from "../../fields.tsx";
import { exactTime } from "../../format.ts";
import { vendorName, type VendorNames, vendorWithLabel } from "../../vendor_names.ts";
import { ListSearch, NoneFound, searchOf } from "../../list_search.tsx";
import { keySpend } from "../../key_spend.ts";
import type { KeySpend, SpendByKey } from "../../../credit/spend_cap.ts";

/** The page with the list of keys, and the pages to revoke and to rotate one. */
export function keyRoutes(app: Routes, ctx: PageContext): void {
  app.get("/dashboard/keys", "viewer", (request) => listPage(ctx, request));
  app.get("/dashboard/keys/csv", "viewer", (request) => {
    const keys = keysWithSpend(ctx, request, { search: searchOf(request) });
    return csvFile("api-keys", keyColumns(request.now), keys);
  });
  confirmationRoutes(app, {
    ...{ path: "/dashboard/keys/:id/revoke", back: "/dashboard/keys" },
    ...{ role: "member", section: "keys", title: "Revoke key", button: "Revoke" },
    find: (request) => findKey(ctx, request),
    consequence: revocation,
    async act(key, request) {
      if (!mayChange(key, request)) return ownersKey("Revoke key");
      const note = request.note("api_key.revoked", key.name, `${key.prefix}…`);
      const isRevoked = await ctx.keys.revoke(request.accountId, key.id, note);
      ctx.keysChanged([key.id]);
      const text = isRevoked
        ? `“${key.name}” is revoked. Calls with it are refused from now on.`
        : `“${key.name}” was revoked before.`;
      return { to: "/dashboard/keys", notice: { kind: "done", text } };
    },
  });
  app.get("/dashboard/keys/:id/rotate", "member", async (request) => {
    const key = await findKey(ctx, request);
    if (!isReplaceable(key, request)) return redirect(`/dashboard/keys/${key.id}`);
    if (!mayRotate(key, request)) return ownersKey("Rotate key");
    return { title: "Rotate key", section: "keys", body: rotateForm(key, request) };
  });
  app.post("/dashboard/keys/:id/rotate", "member", async (form, request) => {
    const key = await findKey(ctx, request);
    if (!isReplaceable(key, request)) return noLongerInUse(key);
    if (!mayRotate(key, request)) return ownersKey("Rotate key");
    const overlap = overlaps.find(({ value }) => value === form.text("overlap")) ?? overlaps[1];
    return await rotate(ctx, request, key, overlap.ms);
  });
}

async function listPage(ctx: PageContext, request: PageRequest): Promise<Page> {
  const after = request.query("after");
  const search = searchOf(request);
  const found = await ctx.keys.list(request.accountId, {
    limit: pageRows + 1,
    after: after === undefined ? undefined : { id: after },
    search,
  });
  const keys = found.slice(0, pageRows);
  const last = found.length > pageRows ? keys.at(-1)! : undefined;
  const spent = await keySpend(ctx.spend, keys, request.now);
  const isWhole = after === undefined && search === undefined && last === undefined;
  const query = search === undefined ? "" : String(new URLSearchParams({ q: search }));
  return {
    title: "API Keys",
    section: "keys",
    lead: "One key for every application and environment, replaced every 90 days.",
    action: request.may("member") ? createLink() : null,
    body: (
      <>
        {isWhole ? null : (
          <ListSearch
            address="/dashboard/keys"
            label="Name, or beginning of the value"
            search={search}
          />
        )}
        {keys.length > 0
          ? keyTable(keys, query && `?${query}`, { spent, request, vendors: ctx.vendorNames })
          : isWhole
          ? <NoKeys may={request.may("member")} />
          : <NoneFound title="No key found" address="/dashboard/keys" all="All keys" />}
        <Older
          href={last && `/dashboard/keys?after=${last.id}${query && `&${query}`}`}
        />
      </>
    ),
  };
}

const pageRows = 50;

/** A key with what it has spent; undefined without caps. */
export type SpendingKey = KeyRow & { spent: KeySpend | undefined };

/** Reads the account's keys page by page, for a file. */
export function keysWithSpend(
  ctx: PageContext,
  { accountId, now }: PageRequest,
  filter: KeyFilter,
): AsyncIterable<readonly SpendingKey[]> {
  const read = (after: KeyRow | undefined, limit: number) =>
    ctx.keys.list(accountId, { ...filter, after, limit });
  return mapPages(allPages(read), async (keys) => {
    const spent = await keySpend(ctx.spend, keys, now);
    return keys.map((key) => ({ ...key, spent: spent.get(key.id) }));
  });
}

export async function findKey(ctx: PageContext, request: PageRequest): Promise<KeyRow> {
  return orNotFound(await ctx.keys.find(request.accountId, request.param("id")));
}

function isReplaceable(key: KeyRow, { now }: PageRequest): boolean {
  return inUse(keyState(key, now)) && !key.isReplaced;
}

/** Answers a form whose key was revoked or replaced in the meantime, for instance in another tab. */
export function noLongerInUse({ id }: KeyRow): Outcome {
  const text = "Nothing was changed: the key has been revoked or replaced, or has expired.";
  return { to: `/dashboard/keys/${id}`, notice: { kind: "failed", text } };
}

/**
 * Whether the person may rotate the key. Rotating shows the new key's value, so others than owners
 * may not rotate a key with scopes that only owners can give.
 */
export function mayRotate({ scopes }: Pick<KeyRow, "scopes">, request: PageRequest): boolean {
  return request.may("owner") || !requiresOwner(scopes);
}

/**
 * Whether the person may change or revoke the key. Members may stop any key that makes calls, which
 * may have leaked, but not one that administers the service.
 */
export function mayChange({ scopes }: Pick<KeyRow, "scopes">, request: PageRequest): boolean {
  return request.may("owner") || !scopes.includes(adminScope);
}

/** The answer to a member for a key that takes an owner. */
export function ownersKey(title: string): Page {
  return {
    title,
    section: "keys",
    status: 403,
    body: (
      <div class="panel">
        <p>
          This key has scopes that only an owner can grant, to erase data or to administer the
          service: ask an owner, or create a key of your own.
        </p>
        <LinkLine href="/dashboard/keys">Back to the keys</LinkLine>
      </div>
    ),
  };
}

async function rotate(
  ctx: PageContext,
  request: PageRequest,
  key: KeyRow,
  overlapMs: number,
): Promise<Outcome> {
  const oldEndsAt = new Date(request.now.getTime() + overlapMs);
  const { value, ...made } = mintKey(ctx.clock);
  const next = (old: ApiKey) => ({
    // The new key has the old one's settings: for instance, it must not record more than that did.
    ...old,
    ...made,
    // The new key lives as long, from now on, as the old one did from its creation.
    expiresAt: old.expiresAt === null
      ? null
      : new Date(request.now.getTime() + old.expiresAt.getTime() - old.createdAt.getTime()),
  });
  const done = await ctx.keys.rotate(key.accountId, key.id, next, {
    ...{ oldEndsAt, now: request.now, madeBy: request.session.person.id },
    audit: (replacement, endsAt) => {
      const detail = `${key.prefix}… ends ${exactTime(endsAt)}; replaced by ${
        grantText(replacement)
      }`;
      return request.note("api_key.rotated", replacement.name, detail);
    },
  });
  if (!done) return noLongerInUse(key);
  ctx.keysChanged([key.id]);
  return {
    to: `/dashboard/keys/${made.id}/created`,
    notice: { kind: "key", id: made.id, value: value.reveal() },
  };
}

/** How long a replaced key keeps working. */
const overlaps = [
  { value: "hour", label: "1 hour", ms: 3_600_000 },
  { value: "day", label: "1 day", ms: 86_400_000 },
  { value: "week", label: "7 days", ms: 7 * 86_400_000 },
  { value: "none", label: "None: revoke it at once", ms: 0 },
] as const;

export const states: Readonly<Record<KeyState, { label: string; tone: Tone }>> = {
  active: { label: "Active", tone: "good" },
  expiring: { label: "Ending", tone: "warn" },
  expired: { label: "Expired", tone: "neutral" },
  revoked: { label: "Revoked", tone: "bad" },
};

export function inUse(state: KeyState): boolean {
  return state === "active" || state === "expiring";
}

function createLink() {
  return <a class="button button-primary" href="/dashboard/keys/new">Create API Key</a>;
}

function NoKeys({ may }: { may: boolean }) {
  return (
    <Empty title="No keys yet">
      <p>Applications call the gateway with a key. Create one for each of them.</p>
      {may ? <p>{createLink()}</p> : <p>An owner or member can create them.</p>}
    </Empty>
  );
}

const columns = ["Key", "State", "Scopes", "Spend caps", "Last call", "Created"];

interface ShownKeys {
  spent: SpendByKey;
  request: PageRequest;
  vendors: VendorNames;
}

function keyTable(
  keys: readonly KeyRow[],
  query: string,
  { spent, ...shown }: ShownKeys,
) {
  const { request } = shown;
  const head = request.may("member") ? [...columns, actionsColumn()] : columns;
  return (
    <Table label="API keys" head={head} csv={`/dashboard/keys/csv${query}`} cards>
      {keys.map((key) => <KeyLine row={key} spent={spent.get(key.id)} {...shown} />)}
    </Table>
  );
}

function keyColumns(now: Date): CsvColumns<SpendingKey> {
  return {
    api_key_id: ({ id }) => id,
    ...capColumns,
    environment: ({ environment }) => environment,
    state: (key) => keyState(key, now),
    replaced: ({ isReplaced }) => isReplaced,
    scopes: ({ scopes }) => scopes.join(" "),
    models: ({ models }) => models.join(" "),
    last_used_at: ({ lastUsedAt }) => lastUsedAt,
    created_at: ({ createdAt }) => createdAt,
    created_by: ({ madeBy }) => madeBy?.name ?? null,
    expires_at: ({ expiresAt }) => expiresAt,
    revoked_at: ({ revokedAt }) => revokedAt,
  };
}

/** Columns for a key's name, its caps and how much of them is spent. */
export const capColumns: CsvColumns<SpendingKey> = {
  name: ({ name }) => name,
  prefix: ({ prefix }) => prefix,
  spent_day_usd: ({ capDayNanos, spent }) =>
    amount(capDayNanos === null ? null : spent?.dayNanos ?? 0n),
  cap_day_usd: ({ capDayNanos }) => amount(capDayNanos),
  spent_month_usd: ({ capMonthNanos, spent }) =>
    amount(capMonthNanos === null ? null : spent?.monthNanos ?? 0n),
  cap_month_usd: ({ capMonthNanos }) => amount(capMonthNanos),
};

function amount(nanos: bigint | null) {
  return nanos === null ? null : { nanos };
}

function KeyLine({ row, spent, request, vendors }: Omit<ShownKeys, "spent"> & {
  row: KeyRow;
  spent: KeySpend | undefined;
}) {
  const { now } = request;
  const state = keyState(row, now);
  return (
    <tr class={inUse(state) ? "" : "faded"}>
      <td class="name">
        <a href={`/dashboard/keys/${row.id}`}>{row.name}</a>
        <div>
          <code class="muted">{`${row.prefix}…`}</code>{" "}
          {row.environment === "" ? null : <Badge tone="neutral">{row.environment}</Badge>}
          {row.isReplaced ? <Badge tone="neutral">Replaced</Badge> : null}
        </div>
      </td>
      <td data-label="State">
        <Badge tone={states[state].tone}>{states[state].label}</Badge>
        {stateTime(row, state, now)}
      </td>
      <td data-label="Scopes">
        <Scopes scopes={row.scopes} vendors={vendors} />
      </td>
      <td data-label="Spend caps">
        <Caps row={row} spent={spent} />
      </td>
      <td data-label="Last call">
        {row.lastUsedAt === null
          ? <span class="muted">None on record</span>
          : <Time at={row.lastUsedAt} now={now} />}
      </td>
      <td data-label="Created">
        <Time at={row.createdAt} now={now} />
        {row.madeBy === null
          ? null
          : <div class="muted author">{`by ${row.madeBy.name ?? "a removed person"}`}</div>}
        {rotationDue(row, now) ? <Badge tone="warn">Rotate: over 90 days</Badge> : null}
      </td>
      {request.may("member")
        ? (
          <td class="actions">
            {inUse(state) && mayChange(row, request)
              ? <KeyActions row={row} request={request} />
              : null}
          </td>
        )
        : null}
    </tr>
  );
}

/** The scopes of a key that names none. */
export const allScopes = "All but admin";

/** Shows the first few scopes; the tooltip lists them all. */
function Scopes({ scopes, vendors }: { scopes: readonly string[]; vendors: VendorNames }) {
  if (scopes.length === 0) return <span class="muted">{allScopes}</span>;
  const shown = scopes.slice(0, shownScopes);
  return (
    <span
      class="scope-list"
      title={scopes.map((scope) => vendorWithLabel(vendors, scope)).join(", ")}
    >
      {shown.map((scope) => <code class="nowrap">{vendorName(vendors, scope)}</code>)}
      {scopes.length > shown.length
        ? <span class="muted nowrap">{`${scopes.length - shown.length} more`}</span>
        : null}
    </span>
  );
}

const shownScopes = 4;

function stateTime(row: KeyRow, state: KeyState, now: Date) {
  const at = state === "revoked" ? row.revokedAt : row.expiresAt;
  if (at === null) return null;
  return (
    <div class="muted nowrap">
      {state === "active" ? "ends " : ""}
      <Time at={at} now={now} />
    </div>
  );
}

function KeyActions({ row, request }: { row: KeyRow; request: PageRequest }) {
  const page = `/dashboard/keys/${row.id}`;
  return (
    <>
      <RowLink href={page} text="Edit" of={row.name} />
      {row.isReplaced || !mayRotate(row, request)
        ? null
        : <RowLink href={`${page}/rotate`} text="Rotate" of={row.name} />}
      <RowLink href={`${page}/revoke`} text="Revoke" of={row.name} danger />
    </>
  );
}

function revocation(key: KeyRow, request: PageRequest) {
  const { now } = request;
  if (!inUse(keyState(key, now)) || !mayChange(key, request)) {
    return redirect(`/dashboard/keys/${key.id}`);
  }
  return (
    <>
      <p>
        Calls with <strong>{key.name}</strong>{" "}
        (<code>{`${key.prefix}…`}</code>) are refused from the moment you revoke it. This can't be
        undone.
      </p>
      <p>{lastCall(key, now)}</p>
    </>
  );
}

/** A key without a recorded call may be in use: reads aren't recorded, and records may be erased. */
function lastCall(key: KeyRow, now: Date) {
  if (key.lastUsedAt === null) return "No call to a model with it is on record.";
  return (
    <>
      The last call to a model with it was <Time at={key.lastUsedAt} now={now} />.
    </>
  );
}

function rotateForm(key: KeyRow, request: PageRequest) {
  return (
    <PostForm action={`/dashboard/keys/${key.id}/rotate`} csrf={request.csrf} class="panel">
      <p>
        You get a new key like <strong>{key.name}</strong>{" "}
        (<code>{`${key.prefix}…`}</code>), with the same scopes, models and caps. The old one goes
        on working for a while, so that you can exchange it without a break.
      </p>
      <fieldset>
        <legend>Overlap</legend>
        {overlaps.map(({ value, label }) => (
          <label class="choice">
            <input type="radio" name="overlap" value={value} checked={value === "day"} /> {label}
          </label>
        ))}
      </fieldset>
      <FormButtons back="/dashboard/keys">Rotate</FormButtons>
    </PostForm>
  );
}
