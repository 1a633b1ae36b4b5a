import { type FakeVendor, startFakeVendor } from "./fake_vendor.ts";

/** A vendor of the chat dialect that repeats the messages it gets. */
export interface EchoVendor extends FakeVendor {
  /** Makes this end user's streams wait midway, until the returned function is called. */
  hold(user: string): () => void;
}

/** Starts the vendor; call it in dual-key mode, which needs no price. */
export async function startEchoVendor(): Promise<EchoVendor> {
  const held = new Map<string, PromiseWithResolvers<void>>();
  const vendor = await startFakeVendor(async (exchange) => {
    if (exchange.request.method === "GET") {
      return await exchange.answer(200, { object: "list", data: [] });
    }
    // It supports chat only: after a 404 the service has to ask again in that dialect.
    if (!exchange.request.path.endsWith("/chat/completions")) {
      return await exchange.answer(404, { error: { message: "Not found" } });
    }
    const { messages, stream, user } = JSON.parse(exchange.request.body);
    const words = messages.map(({ content }: { content: unknown }) =>
      typeof content === "string" ? content : JSON.stringify(content)
    ).join(" ");
    const whole = { id: "c1", created: 1, model: "m" };
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
    if (!stream) {
      const message = { role: "assistant", content: `You said ${words}` };
      const choices = [{ index: 0, message, finish_reason: "stop" }];
      return await exchange.answer(200, { ...whole, object: "chat.completion", choices, usage });
    }
    const event = (fields: object) => {
      const chunk = { ...whole, object: "chat.completion.chunk", ...fields };
      return exchange.write(`data: ${JSON.stringify(chunk)}\n\n`);
    };
    const delta = (fields: object) => ({ choices: [{ index: 0, ...fields }] });
    await exchange.head(200, { "content-type": "text/event-stream" }, "chunked");
    await event(delta({ delta: { role: "assistant", content: "You said " } }));
    await held.get(user)?.promise;
    await event(delta({ delta: { content: words } }));
    await event(delta({ delta: {}, finish_reason: "stop" }));
    await event({ choices: [], usage });
    await exchange.write("data: [DONE]\n\n");
    await exchange.end();
  });
  return Object.assign(vendor, {
    hold(user: string) {
      const holding = Promise.withResolvers<void>();
      held.set(user, holding);
      return () => {
        held.delete(user);
        holding.resolve();
      };
    },
  });
}
