import { messageOf } from "../../../shared/fault.ts";
import { parseVendorKey, type StoredVendorKey } from "../../../keys/vendor_key.ts";
import {
  orNotFound,
  type Outcome,
  type PageContext,
  type PageRequest,
  type Routes,
} from "../../bind.tsx";
import { Badge, PostForm, RowLink, Time } from "../../components.tsx";
import { confirmationRoutes } from "../../confirmation.tsx";
import type { Form } from "../../form.ts";
import { vendorName, type VendorNames, vendorWithLabel } from "../../vendor_names.ts";
import type { KeyVendor, VendorKeyTest } from "../../deps.ts";
import { settingsPage } from "./settings_page.tsx";

const address = "/dashboard/settings/vendor-keys";

/** Pages that set, test, replace and remove the account's vendor keys, without showing values. */
export function vendorKeyRoutes(app: Routes, ctx: PageContext): void {
  app.get(address, "viewer", (request) => listPage(ctx, request, {}));
  app.post(`${address}/:vendor`, "owner", (form, request) => set(ctx, form, request));
  app.post(`${address}/:vendor/test`, "owner", async (_form, request) => {
    const vendor = vendorOf(ctx, request);
    const key = orNotFound(await ctx.storedVendorKey(request.accountId, vendor.label));
    const test = await ctx.testVendorKey(vendor.label, key);
    const name = vendorName(ctx.vendorNames, vendor.label);
    const kind = test.kind === "works" ? "done" : "failed";
    return { to: address, notice: { kind, text: `${name}: ${verdict(test)}` } };
  });
  confirmationRoutes(app, {
    ...{ path: `${address}/:vendor/remove`, back: address, role: "owner", section: "settings" },
    ...{ title: "Remove vendor API key", button: "Remove" },
    async find(request) {
      const { label } = vendorOf(ctx, request);
      return orNotFound((await storedKeys(ctx, request)).get(label));
    },
    consequence: ({ vendor }) => (
      <p>
        Without your key, calls to <strong>{vendorName(ctx.vendorNames, vendor)}</strong>{" "}
        use the service's own key, if it has one, and cost credit.
      </p>
    ),
    async act({ vendor }, request) {
      const note = request.note("vendor_key.removed", vendor);
      await ctx.vendorKeys.remove(request.accountId, vendor, note);
      await ctx.vendorKeysChanged();
      const name = vendorName(ctx.vendorNames, vendor);
      const text =
        `The ${name} key is removed. Calls to ${name} now use the service's key and credit.`;
      return { to: address, notice: { kind: "done", text } };
    },
  });
}

/** Tests a key before storing it, since a wrong one would stop the account's calls. */
async function set(ctx: PageContext, form: Form, request: PageRequest): Promise<Outcome> {
  const { label } = vendorOf(ctx, request);
  const again = (text: string) => listPage(ctx, request, { [label]: text });
  let value;
  try {
    value = parseVendorKey(form.text("key"));
  } catch (thrown) {
    return { ...await again(`Not stored: ${messageOf(thrown)}.`), status: 400 };
  }
  const untested = form.text("untested") === "yes";
  const test = untested ? undefined : await ctx.testVendorKey(label, value);
  if (test && test.kind !== "works") {
    return { ...await again(`Not stored: ${verdict(test)}`), status: 400 };
  }
  await ctx.vendorKeys.set(
    request.accountId,
    label,
    value,
    ({ lastFour }) => request.note("vendor_key.set", label, `…${lastFour}`),
  );
  await ctx.vendorKeysChanged();
  const what = test ? verdict(test) : "It was not tested.";
  const name = vendorName(ctx.vendorNames, label);
  const text = `The ${name} key is stored, and calls use it from now on. ${what}`;
  return { to: address, notice: { kind: "done", text } };
}

function verdict(test: VendorKeyTest): string {
  if (test.kind === "works") {
    return `The key works: the vendor lists ${test.models} model${test.models === 1 ? "" : "s"}.`;
  }
  if (test.kind === "refused") return "The vendor refused this key.";
  return `The key could not be tested: ${test.reason}`;
}

function vendorOf(ctx: PageContext, request: PageRequest): KeyVendor {
  return orNotFound(ctx.keyVendors.find(({ label }) => label === request.param("vendor")));
}

async function storedKeys(
  ctx: PageContext,
  request: PageRequest,
): Promise<Map<string, StoredVendorKey>> {
  const keys = await ctx.vendorKeys.list(request.accountId);
  return new Map(keys.map((key) => [key.vendor, key]));
}

async function listPage(
  ctx: PageContext,
  request: PageRequest,
  fieldErrors: Readonly<Record<string, string>>,
) {
  const stored = await storedKeys(ctx, request);
  return settingsPage(
    "vendor-keys",
    request,
    <>
      <h2>Vendor API keys</h2>
      <p class="lead">
        With your own key, the vendor bills you directly for calls to it, and no credit is used
        here. Keys are stored encrypted; only their last four characters are ever shown.
      </p>
      <ul class="cards">
        {ctx.keyVendors.map((vendor) => (
          <VendorCard
            vendor={vendor}
            vendorNames={ctx.vendorNames}
            stored={stored.get(vendor.label)}
            error={fieldErrors[vendor.label]}
            request={request}
          />
        ))}
      </ul>
    </>,
  );
}

interface CardProps {
  vendorNames: VendorNames;
  vendor: KeyVendor;
  stored: StoredVendorKey | undefined;
  error: string | undefined;
  request: PageRequest;
}

function VendorCard({ vendor, vendorNames, ...props }: CardProps) {
  const { stored, request } = props;
  return (
    <li class="panel">
      <div class="card-head">
        <div>
          <h3>{vendorWithLabel(vendorNames, vendor.label)}</h3>
          <p class="muted">{vendor.kind}</p>
        </div>
        {stored ? <Badge tone="good">Your key</Badge> : <Badge tone="neutral">Service's key</Badge>}
      </div>
      {stored
        ? (
          <p>
            <code>{`…${stored.lastFour}`}</code>{" "}
            <span class="muted">
              set <Time at={stored.changedAt} now={request.now} />
            </span>
          </p>
        )
        : null}
      {request.may("owner")
        ? <KeyForms {...props} label={vendor.label} name={vendorName(vendorNames, vendor.label)} />
        : null}
    </li>
  );
}

function KeyForms(
  { label, name, stored, error, request }:
    & Pick<CardProps, "stored" | "error" | "request">
    & { label: string; name: string },
) {
  const id = `key-${label}`;
  const action = `${address}/${label}`;
  return (
    <>
      <PostForm action={action} csrf={request.csrf} class="inline">
        <label for={id}>
          {stored ? "Replace with" : "API key"}
          <span class="visually-hidden">{` (${name})`}</span>
        </label>
        <input
          id={id}
          name="key"
          type="password"
          required
          autocomplete="off"
          spellcheck={false}
          {...(error === undefined
            ? {}
            : { "aria-invalid": "true", "aria-describedby": `${id}-e` })}
        />
        <button type="submit" class="button">
          Test and save<span class="visually-hidden">{` the key of ${name}`}</span>
        </button>
        {error === undefined ? null : (
          <>
            <p class="error" id={`${id}-e`} role="alert">{error}</p>
            <label class="choice">
              <input type="checkbox" name="untested" value="yes" /> Store it without a test
            </label>
          </>
        )}
      </PostForm>
      {stored
        ? (
          <div class="buttons">
            <PostForm action={`${action}/test`} csrf={request.csrf}>
              <button type="submit" class="button button-small">
                Test<span class="visually-hidden">{` the key of ${name}`}</span>
              </button>
            </PostForm>
            <RowLink href={`${action}/remove`} text="Remove" of={`the key of ${name}`} danger />
          </div>
        )
        : null}
    </>
  );
}
