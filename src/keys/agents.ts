import { agentNames } from "../../contracts/admin/keys.ts";
import { shellWord } from "../base/shell_word.ts";

/** A coding agent that a key can be made for. */
export type AgentName = typeof agentNames[number];

export function isAgentName(name: string): name is AgentName {
  return (agentNames as readonly string[]).includes(name);
}

export interface AgentAccess {
  /** Address of the service, without a slash at the end. */
  baseUrl: string;
  key: string;
  /** A name of the unified family; undefined: the agent's default. */
  model?: string | undefined;
}

/** The name that people know the agent by. */
export const agentTitles: Readonly<Record<AgentName, string>> = {
  codex: "Codex",
  "claude-code": "Claude Code",
  "gemini-cli": "Gemini CLI",
  opencode: "opencode",
  aider: "Aider",
  cline: "Cline",
  cursor: "Cursor",
  copilot: "GitHub Copilot CLI",
  continue: "Continue",
  droid: "Factory Droid",
  pi: "pi",
};

/** Returns the lines to paste so that an agent calls this service; `#` lines say where they go. */
export function agentLines(agent: AgentName, access: AgentAccess): string[] {
  return writers[agent](access);
}

const writers: Readonly<Record<AgentName, (access: AgentAccess) => string[]>> = {
  // A profile is a separate file, so existing settings stay.
  codex: ({ baseUrl, key, model = "openai/gpt-5.6-sol" }) => [
    "# in the shell",
    "mkdir -p ~/.codex",
    "cat > ~/.codex/demeter.config.toml <<'END'",
    `model = ${JSON.stringify(model)}`,
    'model_provider = "demeter"',
    "[model_providers.demeter]",
    'name = "Demeter"',
    `base_url = ${JSON.stringify(`${baseUrl}/chat/v1`)}`,
    'env_key = "DEMETER_API_KEY"',
    'wire_api = "responses"',
    "supports_websockets = true",
    "END",
    `export DEMETER_API_KEY=${shellWord(key)}`,
    "codex --profile demeter",
  ],
  "claude-code": ({ baseUrl, key, model }) => [
    "# in the shell",
    `export ANTHROPIC_BASE_URL=${shellWord(`${baseUrl}/chat`)}`,
    `export ANTHROPIC_AUTH_TOKEN=${shellWord(key)}`,
    ...(model === undefined
      ? []
      : claudeModels.map((name) => `export ${name}=${shellWord(model)}`)),
    "claude",
  ],
  "gemini-cli": ({ baseUrl, key, model = "gemini-3.8-flash" }) => [
    "# ~/.gemini/settings.json",
    JSON.stringify({
      security: { auth: { selectedType: "gemini-api-key" } },
      modelConfigs: {
        customAliases: Object.fromEntries(
          geminiSummarizers.map((name) => [name, { modelConfig: { model } }]),
        ),
      },
    }),
    "# in the shell",
    `export GOOGLE_GEMINI_BASE_URL=${shellWord(`${baseUrl}/chat`)}`,
    `export GEMINI_API_KEY=${shellWord(key)}`,
    "# asks whether the folder is trusted; with -p, set GEMINI_CLI_TRUST_WORKSPACE=true instead",
    `gemini -m ${shellWord(model)}`,
  ],
  opencode: ({ baseUrl, key, model = "anthropic/claude-sonnet-4-6" }) => [
    "# opencode.json",
    JSON.stringify({
      provider: {
        demeter: {
          npm: aiSdkPackage(model),
          options: { baseURL: `${baseUrl}/chat/v1`, apiKey: key },
          models: { [model]: {} },
        },
      },
      model: `demeter/${model}`,
    }),
  ],
  aider: ({ baseUrl, key, model = "anthropic/claude-sonnet-4-6" }) => [
    "# in the shell",
    `export OPENAI_API_BASE=${shellWord(`${baseUrl}/chat/v1`)}`,
    `export OPENAI_API_KEY=${shellWord(key)}`,
    `aider --model ${shellWord(`openai/${model}`)}`,
  ],
  cline: ({ baseUrl, key, model = "anthropic/claude-sonnet-4-6" }) => [
    "# in the shell; in the editor: API provider “OpenAI Compatible” with the same three values",
    `cline auth openai --baseurl ${shellWord(`${baseUrl}/chat/v1`)} --apikey ${
      shellWord(key)
    } --modelid ${shellWord(model)}`,
  ],
  cursor: ({ baseUrl, key, model = "anthropic/claude-sonnet-4-6" }) => [
    "# Cursor Settings → Models. Cursor calls from its own servers: the address has to be public.",
    `# OpenAI API Key: ${key}`,
    `# Override OpenAI Base URL: ${baseUrl}/chat/v1`,
    `# Add model: ${model}`,
  ],
  copilot: ({ baseUrl, key, model = "openai/gpt-5.6-sol" }) => [
    "# in the shell",
    `export COPILOT_PROVIDER_BASE_URL=${shellWord(`${baseUrl}/chat/v1`)}`,
    `export COPILOT_PROVIDER_API_KEY=${shellWord(key)} COPILOT_MODEL=${shellWord(model)}`,
    "export COPILOT_PROVIDER_WIRE_API=responses COPILOT_OFFLINE=true",
    "copilot",
  ],
  continue: ({ baseUrl, key, model = "anthropic/claude-sonnet-4-6" }) => [
    "# demeter.yaml; JSON is YAML too",
    JSON.stringify({
      ...{ name: "Demeter", version: "1.0.0", schema: "v1" },
      models: [
        { name: model, provider: "openai", model, apiBase: `${baseUrl}/chat/v1`, apiKey: key },
      ],
    }),
    "# in the shell",
    "cn --config demeter.yaml",
  ],
  droid: ({ baseUrl, key, model = "openai/gpt-5.6-sol" }) => [
    "# ~/.factory/settings.json; /model then lists it as Demeter",
    JSON.stringify({
      customModels: [{
        ...{ model, displayName: "Demeter", provider: "openai" },
        ...{ baseUrl: `${baseUrl}/chat/v1`, apiKey: key, maxOutputTokens: 16_000 },
      }],
    }),
    "# in the shell",
    "droid",
  ],
  pi: ({ baseUrl, key, model = "anthropic/claude-sonnet-4-6" }) => [
    "# ~/.pi/agent/models.json",
    JSON.stringify({
      providers: {
        demeter: {
          ...{ baseUrl: `${baseUrl}/chat/v1`, apiKey: key, api: "google-generative-ai" },
          models: [{
            ...{ id: model, name: model, reasoning: true, input: ["text", "image"] },
            ...{ contextWindow: 200_000, maxTokens: 16_000 },
            cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
          }],
        },
      },
    }),
    "# in the shell",
    `pi --provider demeter --model ${shellWord(model)}`,
  ],
};

/** In the background, Claude Code asks for its own choice of models unless each of these is set. */
const claudeModels = [
  "ANTHROPIC_MODEL",
  "ANTHROPIC_DEFAULT_HAIKU_MODEL",
  "ANTHROPIC_DEFAULT_SONNET_MODEL",
  "ANTHROPIC_DEFAULT_OPUS_MODEL",
] as const;

/**
 * The aliases for the models that Gemini CLI summarises sessions with, depending on the session's
 * model. Without them it uses models of its own choice, which may have no price here, and a 404
 * ends it.
 */
const geminiSummarizers = ["default", "3-pro", "3-flash", "3.1-flash-lite"]
  .map((name) => `chat-compression-${name}`);

/**
 * Returns the AI SDK's package for the dialect of the model's vendor, which loses the least; else
 * the one for chat.
 */
function aiSdkPackage(model: string): string {
  if (/^(?:(?:openai|vendor-b)\/)?(?:gpt-|o\d)/.test(model)) return "@ai-sdk/openai";
  if (/^(?:(?:anthropic|vendor-c)\/)?claude-/.test(model)) return "@ai-sdk/anthropic";
  return "@ai-sdk/openai-compatible";
}
