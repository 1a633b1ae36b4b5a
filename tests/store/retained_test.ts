import assert from "@std/assert";
import { quoteJson, quoteText } from "../../src/base/quoted_json.ts";
import { finish } from "../../src/base/steps.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { createStoredResponses } from "../../src/relay/conversation/store/stored_responses.ts";
import { createAccounts } from "../../src/keys/store/accounts.ts";
import { eachDatabase } from "../support/databases.ts";
import { interactionRow } from "../support/interaction_row.ts";

eachDatabase(
  "what a call keeps is written with its row and found by its account alone",
  async (database) => {
    const accounts = createAccounts(database);
    const make = (name: string) =>
      accounts.create({ name, tier: "free", requestsPerMinute: 60, burst: 100 });
    const [own, other] = [await make("own"), await make("other")];
    const response = {
      responseId: "resp_1",
      inputItemsText: '[{"a":"\\u0000"}]',
      answerText: '{"id":"resp_1"}',
      itemIds: ["msg_1", "fc_1"],
      sources: ["txn-0"],
    };
    const stored = { ...response, transactionId: "txn-1" };
    const reasoning = [{ callId: "c1", reasoningText: '{"before":[]}' }];
    const row = {
      ...interactionRow("txn-1", { accountId: own.id }),
      // The response's sources are checked against erased calls, whose ids are stored for a week.
      createdAt: new Date(),
      retained: { response, reasoning },
    };
    const interactions = createAnalyticsStore(database);
    // Large conversations and answers come quoted.
    const quoted = finish(quoteJson([{ a: "\0" }]));
    const answerText = finish(quoteText(response.answerText));
    await interactions.insert([{
      ...row,
      retained: { reasoning, response: { ...response, inputItemsText: quoted, answerText } },
    }]);
    // A repeat of the batch changes nothing.
    await interactions.insert([row]);
    const kept = createStoredResponses(database);
    assert.deepEqual(await kept.findResponse(own.id, "resp_1"), stored);
    assert.deepEqual(await kept.findByItems(own.id, ["fc_1", "nope"]), [stored]);
    assert.deepEqual(await kept.findReasoning(own.id, ["c1", "c2"]), reasoning);
    assert.equal(await kept.findResponse(other.id, "resp_1"), undefined);
    assert.deepEqual(await kept.findByItems(other.id, ["fc_1"]), []);
    assert.deepEqual(await kept.findReasoning(other.id, ["c1"]), []);
    assert.equal(await kept.removeResponse(other.id, "resp_1"), false);
    assert.equal(await kept.removeResponse(own.id, "resp_1"), true);
    assert.equal(await kept.findResponse(own.id, "resp_1"), undefined);
    // Of records that come late, as from a journal, nobody knows whether a source was erased.
    const late = (id: string, sources: string[]) => ({
      ...interactionRow(`txn-${id}`, { accountId: own.id }),
      createdAt: new Date(Date.now() - 8 * 24 * 3_600_000),
      retained: {
        response: { ...response, responseId: `resp_${id}`, itemIds: [], sources },
        reasoning: [],
      },
    });
    await interactions.insert([late("2", ["txn-0"]), late("3", [])]);
    assert.equal(await kept.findResponse(own.id, "resp_2"), undefined);
    assert.equal((await kept.findResponse(own.id, "resp_3"))?.transactionId, "txn-3");
  },
);

eachDatabase(
  "ids that no row can hold are not found, wherever callers put them",
  async (database) => {
    const kept = createStoredResponses(database);
    for (const id of ["\u0000", "resp_\u0000", "\ud800", "a".repeat(100_000)]) {
      assert.equal(await kept.findResponse(1, id), undefined);
      assert.equal(await kept.removeResponse(1, id), false);
      assert.deepEqual(await kept.findByItems(1, [id, "x"]), []);
      assert.deepEqual(await kept.findReasoning(1, [id, "x"]), []);
    }
  },
);
