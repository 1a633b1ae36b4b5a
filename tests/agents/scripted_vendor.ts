import { signedContent } from "../../demo/simulator/generate_checks.ts";
import { seal } from "../../demo/simulator/seals.ts";

/**
 * A vendor for agents: the simulated one judges each request as the real one would, and what it
 * accepts is answered by a script: one call of a tool that reads a file, then a text, or a call of
 * the tool by which the agent ends. Both say whether the file's content came back.
 */

export interface ScriptedAgentVendor {
  /** Base URL with the vendor's version segment. */
  readonly url: string;
  /** Requests that the simulated vendor refused: status and message. */
  readonly refusals: string[];
  close(): Promise<void>;
}

/** What the file of a run holds; the vendor looks for it among tools' results. */
export const fileWord = "quicksilver-7319";
export const doneText = `DONE ${fileWord}`;
/** The answer to who offers no tool that reads a file. */
export const noToolText = "DONE without a tool";

type Json = Record<string, unknown>;

/** A call of an agent's tool: with arguments, or where it takes free text with that. */
interface ScriptedCall {
  readonly name: string;
  readonly args: Json;
  /** For a tool that takes free text, in a namespace. */
  readonly free?: { readonly namespace: string; readonly input: string };
}

/** The call by which an agent reads the file: its tools have different names and arguments. */
function readingCall(bodyText: string, file: string): ScriptedCall | undefined {
  const cmd = `cat ${file}`;
  const calls: readonly ScriptedCall[] = [
    { name: "exec_command", args: { cmd } },
    { name: "shell_command", args: { command: cmd } },
    { name: "Read", args: { [firstNamed(bodyText, ["filepath", "file_path", "path"])]: file } },
    { name: "read_file", args: { file_path: file, absolute_path: file, path: file } },
    { name: "read", args: { [firstNamed(bodyText, ["filePath", "path"])]: file } },
    { name: "view", args: { path: file } },
    { name: "read_files", args: { files: [{ path: file }] } },
    { name: "bash", args: { command: cmd } },
    // Codex for its vendor's newest models: a program that calls tools.
    {
      ...{ name: "exec", args: {} },
      free: {
        namespace: "functions",
        input: `text(await tools.exec_command(${JSON.stringify({ cmd })}));`,
      },
    },
  ];
  return calls.find(({ name }) => bodyText.includes(`"name":"${name}"`));
}

/** The first of the arguments' names that the request has: some agents refuse any other. */
function firstNamed(bodyText: string, names: readonly string[]): string {
  return names.find((name) => bodyText.includes(`"${name}"`)) ?? names.at(-1)!;
}

/** The call by which an agent ends that takes no text for the end. */
function endingCall(bodyText: string): ScriptedCall | undefined {
  // mini-swe-agent has no other tool than its shell.
  const end = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT";
  if (bodyText.includes(end)) {
    return { name: "bash", args: { command: `${end}; echo ${doneText}` } };
  }
  const name = "submit_and_exit";
  if (!bodyText.includes(`"name":"${name}"`)) return undefined;
  return { name, args: { summary: doneText, verified: true } };
}

export function startScriptedAgentVendor(target: string, file: () => string): ScriptedAgentVendor {
  const { origin, pathname } = new URL(target);
  const refusals: string[] = [];
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => {
      const url = new URL(request.url);
      const headers = new Headers(request.headers);
      for (const name of ["host", "content-length", "accept-encoding"]) headers.delete(name);
      const bodyText = await request.text();
      const answer = await fetch(origin + url.pathname + url.search, {
        ...{ method: request.method, headers },
        ...(bodyText === "" ? {} : { body: bodyText }),
      });
      const write = writerOf(url.pathname);
      if (request.method !== "POST" || write === undefined || !answer.ok) {
        const text = await answer.text();
        if (!answer.ok) refusals.push(`${answer.status} ${text.slice(0, 300)}`);
        const type = answer.headers.get("content-type") ?? "application/json";
        return new Response(text, { status: answer.status, headers: { "content-type": type } });
      }
      await answer.body?.cancel();
      const body = JSON.parse(bodyText) as Json;
      const offered = JSON.stringify(body.tools ?? "") + bodyText;
      const tool = readingCall(offered, file());
      // The file's content is nowhere but in the tool's result.
      const hasRead = bodyText.includes(fileWord);
      const hasCalled = /"(?:tool_call_id|call_id|tool_use_id|functionResponse)"/.test(bodyText);
      const said = hasRead ? doneText : hasCalled ? "NO RESULT" : noToolText;
      const call = hasCalled ? hasRead ? endingCall(offered) : undefined : tool;
      const turn = call === undefined ? { text: said } : { tool: call };
      const isStreamed = body.stream === true || url.pathname.includes(":stream");
      return write(turn, isStreamed, String(body.model ?? ""));
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}${pathname}`,
    refusals,
    close: () => server.shutdown(),
  };
}

type Turn = { tool: ScriptedCall } | { text: string };
type Write = (turn: Turn, isStreamed: boolean, model: string) => Response;

function writerOf(path: string): Write | undefined {
  if (path.endsWith("/chat/completions")) return writeChat;
  if (path.endsWith("/responses")) return writeResponses;
  if (path.endsWith("/messages")) return writeMessages;
  return /:(?:stream)?generateContent$/i.test(path) ? writeGenerate : undefined;
}

function events(all: readonly (Json | string)[], isNamed = false): Response {
  const text = all.map((one) =>
    typeof one === "string"
      ? `data: ${one}\n\n`
      : `${isNamed ? `event: ${one.type}\n` : ""}data: ${JSON.stringify(one)}\n\n`
  ).join("");
  return new Response(text, { headers: { "content-type": "text/event-stream" } });
}

const id = () => crypto.randomUUID().replaceAll("-", "").slice(0, 24);

function writeChat(turn: Turn, isStreamed: boolean, model: string): Response {
  const message = "text" in turn ? { role: "assistant", content: turn.text } : {
    role: "assistant",
    content: null,
    tool_calls: [{
      ...{ id: `call_${id()}`, type: "function" },
      function: { name: turn.tool.name, arguments: JSON.stringify(turn.tool.args) },
    }],
  };
  const finish_reason = "text" in turn ? "stop" : "tool_calls";
  const base = { id: `chatcmpl-${id()}`, created: 1_790_000_000, model };
  const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
  if (!isStreamed) {
    const choices = [{ index: 0, message, finish_reason }];
    return Response.json({ ...base, object: "chat.completion", choices, usage });
  }
  const delta = "tool_calls" in message
    ? { ...message, tool_calls: message.tool_calls!.map((call) => ({ index: 0, ...call })) }
    : message;
  const chunk = { ...base, object: "chat.completion.chunk" };
  return events([
    { ...chunk, choices: [{ index: 0, delta, finish_reason: null }] },
    { ...chunk, choices: [{ index: 0, delta: {}, finish_reason }] },
    { ...chunk, choices: [], usage },
    "[DONE]",
  ]);
}

function writeResponses(turn: Turn, isStreamed: boolean, model: string): Response {
  const item: Json = "text" in turn
    ? {
      ...{ type: "message", id: `msg_${id()}`, role: "assistant", status: "completed" },
      content: [{ type: "output_text", text: turn.text, annotations: [] }],
    }
    : writeItem(turn.tool);
  const usage = {
    ...{ input_tokens: 100, output_tokens: 10, total_tokens: 110 },
    input_tokens_details: { cached_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  };
  const base = { id: `resp_${id()}`, object: "response", created_at: 1_790_000_000, model };
  const whole = { ...base, status: "completed", output: [item], usage };
  if (!isStreamed) return Response.json(whole);
  const open = { ...base, status: "in_progress", output: [] };
  const all: Json[] = [
    { type: "response.created", response: open },
    { type: "response.output_item.added", output_index: 0, item },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: whole },
  ];
  if ("text" in turn) {
    const at = { item_id: item.id, output_index: 0, content_index: 0 };
    const part = { type: "output_text", text: turn.text, annotations: [] };
    all.splice(
      2,
      0,
      { type: "response.content_part.added", ...at, part: { ...part, text: "" } },
      { type: "response.output_text.delta", ...at, delta: turn.text },
      { type: "response.output_text.done", ...at, text: turn.text },
      { type: "response.content_part.done", ...at, part },
    );
  }
  return events(all.map((one, sequence_number) => ({ ...one, sequence_number })), true);
}

function writeItem({ name, args, free }: ScriptedCall): Json {
  const call = { name, call_id: `call_${id()}`, status: "completed" };
  return free
    ? { type: "custom_tool_call", id: `ctc_${id()}`, ...call, ...free }
    : { type: "function_call", id: `fc_${id()}`, ...call, arguments: JSON.stringify(args) };
}

function writeMessages(turn: Turn, isStreamed: boolean, model: string): Response {
  const block: Json = "text" in turn
    ? { type: "text", text: turn.text }
    : { type: "tool_use", id: `toolu_${id()}`, name: turn.tool.name, input: turn.tool.args };
  const stop_reason = "text" in turn ? "end_turn" : "tool_use";
  const usage = { input_tokens: 100, output_tokens: 10 };
  const base = { id: `msg_${id()}`, type: "message", role: "assistant", model };
  if (!isStreamed) {
    return Response.json({ ...base, content: [block], stop_reason, stop_sequence: null, usage });
  }
  const start = "text" in turn ? { ...block, text: "" } : { ...block, input: {} };
  const delta = "text" in turn
    ? { type: "text_delta", text: turn.text }
    : { type: "input_json_delta", partial_json: JSON.stringify(turn.tool.args) };
  const message = { ...base, content: [], stop_reason: null, stop_sequence: null, usage };
  return events([
    { type: "message_start", message },
    { type: "content_block_start", index: 0, content_block: start },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage },
    { type: "message_stop" },
  ], true);
}

/** As the simulated vendor checks it when it comes back. */
function signatureOf({ name, args }: ScriptedCall): string {
  return seal("thought", signedContent(name, args));
}

function writeGenerate(turn: Turn, isStreamed: boolean, model: string): Response {
  const part = "text" in turn ? { text: turn.text } : {
    functionCall: { name: turn.tool.name, args: turn.tool.args },
    thoughtSignature: signatureOf(turn.tool),
  };
  const answer = {
    candidates: [{ content: { role: "model", parts: [part] }, finishReason: "STOP", index: 0 }],
    usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 10, totalTokenCount: 110 },
    modelVersion: model,
  };
  return isStreamed ? events([answer]) : Response.json(answer);
}
