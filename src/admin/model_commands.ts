import type { AccountStore } from "../keys/account.ts";
import { shownTargets, type StoredVirtualModel } from "../routing/virtual_model.ts";
import type { VirtualModels } from "../routing/virtual_models.ts";
import {
  virtualModelRemoved,
  virtualModelSet,
  virtualModelView,
} from "../administration/virtual_model_administration.ts";
import { allPages } from "../base/all_pages.ts";
import { pushAll } from "../base/lists.ts";
import type { Clock } from "../base/clock.ts";
import { parseExactly } from "../base/exact_json.ts";
import { messageOf, OptionError, rethrowing } from "../shared/fault.ts";
import {
  accountOption,
  chosenAccount,
  type Command,
  commandLineAt,
  type CommandResult,
  done,
  listed,
  listedAccount,
  listedAccountOption,
  notFound,
  UsageError,
  type Values,
} from "./command.ts";

export interface ModelCommandDeps {
  accounts: Pick<AccountStore, "first" | "find">;
  clock: Clock;
  /** Opens the virtual models; where no server runs it reads `PRICES_FILE` and `MODELS_FILE`. */
  openVirtualModels: () => VirtualModels;
}

/** `model …`: virtual models of accounts. Those of the service are set in `MODELS_FILE` only. */
export const modelCommands: Readonly<Record<string, Command<ModelCommandDeps>>> = {
  "model set": {
    summary: "Defines a virtual model of an account, from JSON.",
    example: "model set fast",
    input: { example: `echo '{"targets": ["openai/gpt-5-mini"]}'`, isSecret: false },
    usage:
      'model set NAME [--account A]   (JSON from standard input, such as {"targets": ["gpt-5-mini"]})',
    options: accountOption,
    positionals: ["NAME"],
    run: setModel,
  },
  "model list": {
    summary: "Lists virtual models: those of accounts, and those of MODELS_FILE.",
    example: "model list",
    usage: "model list [--account A]",
    options: listedAccountOption,
    run: listModels,
  },
  "model remove": {
    summary: "Removes a virtual model of an account.",
    example: "model remove fast",
    usage: "model remove NAME [--account A]",
    options: accountOption,
    positionals: ["NAME"],
    run: removeModel,
  },
};

async function setModel(
  deps: ModelCommandDeps,
  values: Values,
  [name]: readonly string[],
  input: string,
): Promise<CommandResult> {
  const json = parseInput(input);
  const owner = await chosenAccount(deps.accounts, values);
  const note = virtualModelSet(commandLineAt(deps.clock), owner.id, name!);
  const stored = await rethrowing(
    OptionError,
    ({ field, message }) =>
      new UsageError(field === "name" ? message : `standard input: ${message}`),
    () => deps.openVirtualModels().set(owner.id, name!, json, note),
  );
  return done(virtualModelView(stored), [
    `Calls of account '${owner.name}' that name '${name}' go to ${
      shownTargets(stored.definition)
    } from now on.`,
  ]);
}

function parseInput(input: string): unknown {
  try {
    return parseExactly(input);
  } catch (thrown) {
    throw new UsageError(`standard input: expected JSON: ${messageOf(thrown)}`);
  }
}

async function removeModel(
  deps: ModelCommandDeps,
  values: Values,
  [name]: readonly string[],
): Promise<CommandResult> {
  const owner = await chosenAccount(deps.accounts, values);
  const note = virtualModelRemoved(commandLineAt(deps.clock), owner.id, name!);
  const removed = await deps.openVirtualModels().remove(owner.id, name!, note);
  const json = { account_id: owner.id, name, removed };
  if (removed) {
    return done(json, [`Virtual model '${name}' of account '${owner.name}' removed.`]);
  }
  return notFound(
    json,
    `Account '${owner.name}' has no virtual model named '${name!.slice(0, 100)}'.`,
  );
}

/** Lists virtual models: without `--account` also those of the service (`account_id` null). */
async function listModels(deps: ModelCommandDeps, values: Values): Promise<CommandResult> {
  const owner = await listedAccount(deps.accounts, values);
  const models = deps.openVirtualModels();
  const ofService = owner !== undefined ? [] : models.listOfService();
  const line = ({ accountId, name, definition }: Parameters<typeof virtualModelView>[0]) => {
    const of = accountId === undefined ? "service" : `account ${accountId}`;
    return [of, name, shownTargets(definition)].join("  ");
  };
  const all: Parameters<typeof virtualModelView>[0][] = [...ofService];
  const read = (after: StoredVirtualModel | undefined, limit: number) =>
    models.list(owner, { after, limit });
  for await (const page of allPages(read)) pushAll(all, page);
  return listed(all, virtualModelView, line, "No virtual models.");
}
