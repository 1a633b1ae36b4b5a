import assert from "@std/assert";
import { webhookEvents } from "../../contracts/admin/webhooks.ts";
import * as sdk from "../../openapi/client/mod.ts";
import { noAccount, noKey, none, type Rows } from "./administration_row.ts";

/** Nobody answers there, and no name has to be resolved to find that out. */
const url = "https://127.0.0.1:9/hook?token=canary-of-the-receiver";

const changedUrl = "https://127.0.0.1:10/hook";

let added: sdk.AddedWebhook | undefined;
const hook = () => ({ id: added?.id ?? noKey.id });
const noHook = /No webhook has the id/;

const refusedUrl = (url: string) =>
  [
    "invalid_value",
    /^url: expected a public https URL on port 443/,
    (to: { client: sdk.Gateway }) => sdk.addWebhook({ ...to, body: { url } }),
  ] as const;

export const webhookRows = {
  addWebhook: {
    call: (to) =>
      sdk.addWebhook({
        ...to,
        body: { url, events: [...webhookEvents], credit_low_usd: "2.50", account_id: 2 },
      }),
    answer: ({ data }: { data: sdk.AddedWebhook }) => {
      added = data;
      assert.deepEqual(Object.keys(data), ["id", "secret"]);
      assert.match(data.secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    },
    // The host alone: what stands behind it may be a receiver's own secret.
    notes: [["webhook.added", "127.0.0.1:9", 2]],
    wrong: [
      ...["https://10.1.2.3/", "https://[::1]/", "http://hooks.example/", "https://a:b@x.example/"]
        .map(refusedUrl),
      refusedUrl("nothing"),
      refusedUrl("https://hooks.example.com:8443/"),
      [
        "missing_required_field",
        /^url: /,
        (to) => sdk.addWebhook({ ...to, body: {} as { url: string } }),
      ],
      [
        "invalid_value",
        /^events\[1\]: expected 'budget\.reached' or /,
        (to) => {
          const events = ["export.ready", "export.done"] as "export.ready"[];
          return sdk.addWebhook({ ...to, body: { url, events } });
        },
      ],
      [
        "invalid_value",
        /^credit_low_usd: expected an amount/,
        (to) => sdk.addWebhook({ ...to, body: { url, credit_low_usd: "-1" } }),
      ],
      ["account_not_found", noAccount, (to) => sdk.addWebhook({ ...to, body: { url, ...none } })],
    ],
  },
  listWebhooks: {
    call: (to) => sdk.listWebhooks({ ...to, query: { account_id: 2 } }),
    answer: ({ data }: { data: sdk.WebhookList }) => {
      assert.deepEqual(data.data.map(({ id }) => id), [added?.id]);
      assert.ok(!JSON.stringify(data).includes("whsec_"));
    },
    wrong: [["account_not_found", noAccount, (to) => sdk.listWebhooks({ ...to, query: none })]],
  },
  getWebhook: {
    call: (to) => sdk.getWebhook({ ...to, path: hook() }),
    answer: ({ data: { created_at: _, ...shown } }: { data: sdk.Webhook }) =>
      assert.deepEqual(shown, {
        ...{ id: added?.id, account_id: 2, url, events: [...webhookEvents] },
        ...{ credit_low_usd: "2.500000000", waiting: 0, lost: 0 },
        ...{ last_sent_at: null, last_failed_at: null, last_error: null },
      }),
    wrong: [
      ["webhook_not_found", noHook, (to) => sdk.getWebhook({ ...to, path: noKey })],
      ["invalid_value", /^id: /, (to) => sdk.getWebhook({ ...to, path: { id: "x" } })],
    ],
  },
  updateWebhook: {
    call: (to) =>
      sdk.updateWebhook({
        ...{ ...to, path: hook() },
        body: { url: changedUrl, events: ["export.ready"], credit_low_usd: null },
      }),
    answer: ({ data }: { data: sdk.Webhook }) =>
      assert.deepEqual(
        [data.id, data.url, data.events, data.credit_low_usd, data.account_id],
        [added?.id, changedUrl, ["export.ready"], null, 2],
      ),
    notes: [["webhook.changed", "127.0.0.1:10", 2]],
    wrong: [
      [
        "webhook_not_found",
        noHook,
        (to) => sdk.updateWebhook({ ...to, path: noKey, body: { events: [] } }),
      ],
      [
        "invalid_value",
        /^url: expected a public https URL/,
        (to) => sdk.updateWebhook({ ...to, path: hook(), body: { url: "http://10.0.0.1/" } }),
      ],
      [
        "invalid_value",
        /^events\[0\]: expected 'budget\.reached' or /,
        (to) => {
          const events = ["export.done"] as unknown as "export.ready"[];
          return sdk.updateWebhook({ ...to, path: hook(), body: { events } });
        },
      ],
      [
        "invalid_value",
        /^credit_low_usd: expected an amount/,
        (to) => sdk.updateWebhook({ ...to, path: hook(), body: { credit_low_usd: "-1" } }),
      ],
    ],
  },
  testWebhook: {
    call: (to) => sdk.testWebhook({ ...to, path: hook() }),
    answer: ({ data }: { data: sdk.QueuedWebhookTest }) =>
      assert.deepEqual(data, { id: added?.id, queued: true }),
    wrong: [["webhook_not_found", noHook, (to) => sdk.testWebhook({ ...to, path: noKey })]],
  },
  deleteWebhook: {
    call: (to) => sdk.deleteWebhook({ ...to, path: hook() }),
    answer: ({ data }: { data: sdk.RemovedWebhook }) =>
      assert.deepEqual(data, { id: added?.id, removed: true }),
    notes: [["webhook.removed", "127.0.0.1:10", 2]],
    wrong: [["webhook_not_found", noHook, (to) => sdk.deleteWebhook({ ...to, path: hook() })]],
  },
} satisfies Partial<Rows>;
