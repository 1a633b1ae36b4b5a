import { nanosToUsd } from "../../../base/money.ts";
import { changeText } from "../../../keys/key_audit.ts";
import { withoutEnd } from "../../../base/trim.ts";
import { type KeyRow, keyState } from "../../../keys/key_service.ts";
import { type Page, type PageContext, type PageRequest, type Routes } from "../../bind.tsx";
import { Caps } from "../../caps.tsx";
import { type VendorNames, vendorWithLabel } from "../../vendor_names.ts";
import { Badge, CopyButton, Fact, PostForm, Time } from "../../components.tsx";
import { FormButtons, type Shown, TextField } from "../../fields.tsx";
import type { FieldErrors } from "../../faults.ts";
import { keySpend } from "../../key_spend.ts";
import type { KeySpend } from "../../../credit/spend_cap.ts";
import {
  allScopes,
  findKey,
  inUse,
  mayChange,
  mayRotate,
  noLongerInUse,
  ownersKey,
  states,
} from "./keys.tsx";
import { cap } from "./new_key_form.tsx";
import { readKeyChange, shownField } from "./read_new_key.ts";

/** The page of one key: what it may do, and the form that changes its name and caps. */
export function oneKeyRoutes(app: Routes, ctx: PageContext): void {
  app.get("/dashboard/keys/:id", "viewer", async (request) => {
    const key = await findKey(ctx, request);
    return await keyPage(ctx, request, key, valuesOf(key), {});
  });
  app.post("/dashboard/keys/:id", "member", async (form, request) => {
    const key = await findKey(ctx, request);
    if (!inUse(keyState(key, request.now))) return noLongerInUse(key);
    if (!mayChange(key, request)) return ownersKey(key.name);
    const { wanted, fieldErrors } = readKeyChange(form, key);
    if (!wanted) {
      const shown = await keyPage(ctx, request, key, form.values(), fieldErrors);
      return { ...shown, status: 400 };
    }
    const done = await ctx.keys.change(
      key.accountId,
      key.id,
      wanted,
      (before, after) => request.note("api_key.changed", after.name, changeText(before, after)),
    );
    if (!done) return noLongerInUse(key);
    ctx.keysChanged([key.id]);
    const text = "Saved. It applies to calls at once.";
    return { to: `/dashboard/keys/${key.id}`, notice: { kind: "done", text } };
  });
}

/** Formats an amount for the form, with two decimals or more. */
function usdField(nanos: bigint): string {
  const text = nanosToUsd(nanos);
  const short = withoutEnd(text, "0");
  return short.endsWith(".") ? text.slice(0, short.length + 2) : short;
}

function valuesOf(key: KeyRow): Record<string, string[]> {
  const field = (nanos: bigint | null) => nanos === null ? [] : [usdField(nanos)];
  return { name: [key.name], cap_day: field(key.capDayNanos), cap_month: field(key.capMonthNanos) };
}

async function keyPage(
  ctx: PageContext,
  request: PageRequest,
  key: KeyRow,
  values: Record<string, string[]>,
  fieldErrors: FieldErrors,
): Promise<Page> {
  const spent = await keySpend(ctx.spend, [key], request.now);
  const isChangeable = inUse(keyState(key, request.now)) && request.may("member") &&
    mayChange(key, request);
  return {
    title: key.name,
    section: "keys",
    lead: `${key.prefix}…`,
    action: isChangeable
      ? (
        <div class="buttons">
          {!key.isReplaced && mayRotate(key, request)
            ? <a class="button" href={`/dashboard/keys/${key.id}/rotate`}>Rotate</a>
            : null}
          <a class="button button-danger" href={`/dashboard/keys/${key.id}/revoke`}>Revoke</a>
        </div>
      )
      : null,
    body: (
      <>
        <KeyFacts
          row={key}
          spent={spent.get(key.id)}
          vendors={ctx.vendorNames}
          now={request.now}
        />
        {isChangeable
          ? (
            <PostForm action={`/dashboard/keys/${key.id}`} csrf={request.csrf} class="form">
              <h2>Name and caps</h2>
              {Object.entries(valuesOf(key)).map(([field, [now = ""]]) => (
                <input
                  type="hidden"
                  name={shownField(field)}
                  value={values[shownField(field)]?.[0] ?? now}
                />
              ))}
              <TextField
                {...{ values, fieldErrors }}
                id="name"
                label="Name"
                required
                maxlength={200}
              />
              <CapFields shown={{ values, fieldErrors }} apiKey={key} />
              <FormButtons back="/dashboard/keys">Save</FormButtons>
            </PostForm>
          )
          : null}
      </>
    ),
  };
}

function CapFields({ shown, apiKey }: {
  shown: Shown;
  apiKey: KeyRow;
}) {
  return (
    <>
      <div class="columns">
        <TextField {...shown} {...cap} id="cap_day" label="Spend per day, USD" />
        <TextField {...shown} {...cap} id="cap_month" label="Spend per month, USD" />
      </div>
      {apiKey.capDayNanos === null && apiKey.capMonthNanos === null
        ? <p class="hint">What the key was charged before doesn't count towards a new cap.</p>
        : null}
    </>
  );
}

function KeyFacts({ row, spent, vendors, now }: {
  row: KeyRow;
  spent: KeySpend | undefined;
  vendors: VendorNames;
  now: Date;
}) {
  const state = keyState(row, now);
  return (
    <dl class="facts">
      <Fact name="State">
        <Badge tone={states[state].tone}>{states[state].label}</Badge>
        {row.isReplaced ? <Badge tone="neutral">Replaced</Badge> : null}
      </Fact>
      <Fact name="ID">
        <code>{row.id}</code>
        <CopyButton text={row.id} label="Copy ID" what={`of ${row.name}`} />
      </Fact>
      {row.environment === "" ? null : <Fact name="Environment">{row.environment}</Fact>}
      <Fact name="Scopes">
        {row.scopes.length === 0
          ? allScopes
          : row.scopes.map((scope) => <code>{vendorWithLabel(vendors, scope)}</code>)}
      </Fact>
      <Fact name="Models">
        {row.models.length === 0 ? "Every model" : row.models.map((model) => <code>{model}</code>)}
      </Fact>
      <Fact name="Spend caps">
        <Caps row={row} spent={spent} />
      </Fact>
      <Fact name="Last call">
        {row.lastUsedAt === null ? "None on record" : <Time at={row.lastUsedAt} now={now} />}
      </Fact>
      <Fact name="Created">
        <Time at={row.createdAt} now={now} />
        {row.madeBy === null ? null : <span>{`by ${row.madeBy.name ?? "a removed person"}`}</span>}
      </Fact>
      {row.expiresAt === null ? null : (
        <Fact name="Ends">
          <Time at={row.expiresAt} now={now} />
        </Fact>
      )}
      <Fact name="Calls">
        <a href={`/dashboard/interactions?key=${row.id}`}>Recorded</a>
        <a href={`/dashboard/interactions/refused?key=${row.id}`}>Refused</a>
      </Fact>
    </dl>
  );
}
