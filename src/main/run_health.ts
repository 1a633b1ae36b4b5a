import { type IncomingMessage, request as plain } from "node:http";
import { request as secure } from "node:https";
import type { CommandResult } from "../admin/command.ts";
import type { Config } from "./config.ts";
import { createHttpsAgent } from "../base/https_agent.ts";
import { messageOf } from "../shared/fault.ts";
import { addressOfOwner } from "../database/data_dir.ts";

const probeTimeoutMs = 5_000;

/**
 * `admin health`: asks the server that owns the data directory whether it is ready, for container
 * probes without curl. Exit code 0 if `/readyz` answers 200, else 1.
 */
export async function runHealth(
  config: Pick<Config, "dataDir">,
  args: readonly string[],
): Promise<CommandResult> {
  const unexpected = args.find((word) => word !== "--json");
  if (unexpected !== undefined) {
    const error = `unexpected '${unexpected}'`;
    return { exitCode: 2, json: { error }, lines: [error] };
  }
  const address = await addressOfOwner(config.dataDir);
  const reason = address === undefined
    ? `no server holds DATA_DIR=${config.dataDir}`
    : await whyNotReady(`${address}/readyz`);
  return reason === undefined
    ? { exitCode: 0, json: { ready: true, address }, lines: [`ready at ${address}`] }
    : { exitCode: 1, json: { ready: false, address, reason }, lines: [`not ready: ${reason}`] };
}

function whyNotReady(address: string): Promise<string | undefined> {
  // The certificate is for the public name, not for the local address.
  const options = { rejectUnauthorized: false, timeout: probeTimeoutMs };
  return new Promise((resolve) => {
    const onAnswer = (answer: IncomingMessage) => {
      answer.resume();
      resolve(answer.statusCode === 200 ? undefined : `/readyz answered ${answer.statusCode}`);
    };
    const asking = address.startsWith("https:")
      ? secure(address, { ...options, agent: createHttpsAgent({}) }, onAnswer)
      : plain(address, { ...options, agent: false }, onAnswer);
    asking.on("timeout", () => asking.destroy(new Error(`no answer within ${probeTimeoutMs} ms`)));
    asking.on("error", (thrown) => resolve(messageOf(thrown)));
    asking.end();
  });
}
