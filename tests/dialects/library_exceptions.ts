/**
 * Fields of the libraries' types that our decoders treat otherwise than by reading them, each with
 * the reason. A path stands for all fields in it; `*` for any name or type.
 */
import type { Name } from "./translated.ts";

/** By reason, the paths. */
type Exceptions = Readonly<Record<string, string>>;

/** Fields of answers that have no canonical form. Records and callers of the dialect get them. */
export const unreadInAnswers: Readonly<Record<Name, Exceptions>> = {
  chat: {
    "always the same": ".object .choices[].message.role .choices[].message.tool_calls[]<*>.type " +
      ".choices[].message.annotations[]<url_citation>.type",
    "part of another count, at the same price":
      ".usage.total_tokens .usage.*_details.text_tokens " +
      ".usage.completion_tokens_details.*_prediction_tokens",
    "only this dialect has it": ".metadata .moderation .system_fingerprint " +
      ".choices[].logprobs.refusal .choices[].message.audio.expires_at",
  },
  responses: {
    "always the same": ".object .output[]<message>.role .output[]<message>.content[]<*>.type " +
      ".output[]<reasoning>.summary[]<*>.type .output[]<reasoning>.content[]<*>.type",
    "repeats the request": ".metadata .parallel_tool_calls .temperature .top_p .background " +
      ".max_output_tokens .max_tool_calls .previous_response_id .prompt_cache_key " +
      ".prompt_cache_options .prompt_cache_retention .reasoning .safety_identifier .text " +
      ".top_logprobs .truncation .user .access_programs .conversation .image",
    "part of another count, at the same price": ".usage.total_tokens " +
      ".output[]<image_generation_call>.svg_usage.total_tokens .tool_usage.image_gen.total_tokens .tool_usage.image_gen.*_details.*text_tokens",
    "only this dialect has it": ".completed_at .moderation .input_transformations " +
      ".prompt_cache_diagnostics .output[]<message>.phase .output[]<*_call>.async " +
      ".output[]<*_call>.caller .output[]<*_call>.namespace",
    "of an item, whose content is read": ".output[]<*>.id .output[]<*>.status",
    "a citation of a file, where others have addresses":
      ".output[]<message>.content[]<output_text>.annotations[]<*file_citation> " +
      ".output[]<message>.content[]<output_text>.annotations[]<file_path>",
    "how the image was made": ".output[]<image_generation_call>.action " +
      ".output[]<image_generation_call>.background .output[]<image_generation_call>.quality " +
      ".output[]<image_generation_call>.revised_prompt .output[]<image_generation_call>.size",
  },
  messages: {
    "always the same": "<message>.role <message>.type",
    "the rest of the cache's writes": "<message>.usage.*.ephemeral_5m_input_tokens " +
      "<message>.usage.iterations[]<*>.cache_creation.ephemeral_5m_input_tokens",
    "in the totals, by the vendor's documentation": "<message>.usage.iterations[]<message>",
    "free of charge": "<message>.usage.server_tool_use.web_fetch_requests",
    "says that there was a discount, and not which": "<message>.usage.fallback_credit",
    "a citation of a document, where others have addresses":
      "<message>.content[]<text>.citations[]<*>",
    "only this dialect has it": "<message>.container <message>.context_management " +
      "<message>.diagnostics <message>.stop_details <message>.input_transformations " +
      "<message>.content[]<tool_use>.caller <message>.content[]<tool_use>.toolset_name",
  },
  generate: {
    "always the same": ".candidates[].content.role",
    "part of another count, at the same price": ".usageMetadata.totalTokenCount " +
      ".usageMetadata.initialPromptTokenCount .candidates[].tokenCount",
    "only this dialect has it": ".promptFeedback .modelStatus .candidates[].finishMessage " +
      ".candidates[].avgLogprobs .candidates[].safetyRatings .candidates[].urlContextMetadata " +
      ".candidates[].continuationToken .candidates[].content.parts[].* " +
      ".candidates[].content.parts[]<functionCall>.* " +
      ".candidates[].content.parts[]<inlineData>.* .candidates[].logprobsResult.*",
    "only addresses and titles are cited": ".candidates[].citationMetadata.citations[].* " +
      ".candidates[].groundingMetadata",
  },
};

/** Fields of streams that their records lack. */
export const missingInRecords: Readonly<Record<"chat" | "messages" | "generate", Exceptions>> = {
  chat: {
    "padding against listeners": ".obfuscation",
    "a call is recorded in the old form if the answer ends with its reason, else in the new one":
      ".choices[].message.function_call .choices[].message.tool_calls[]",
  },
  messages: {},
  generate: {
    "always the same": ".candidates[].content.role",
    "the arguments are whole":
      ".candidates[].content.parts[]<functionCall>.functionCall.partialArgs " +
      ".candidates[].content.parts[]<functionCall>.functionCall.willContinue",
  },
};

/** Fields of requests that change nothing for other dialects and are no loss, either. */
export const unreadInRequests: Readonly<Record<Name, Exceptions>> = {
  chat: {
    "always the same": ".tools[]<function>.type .messages[].tool_calls[]<function>.type " +
      ".tool_choice<*>.type .web_search_options.user_location<approximate>.type",
    "another field takes its place": ".function_call .max_tokens .user",
    "the gateway asks for usage itself": ".stream_options.include_usage",
  },
  responses: {
    "always the same": ".tools[]<*>.user_location<approximate>.type " +
      ".input[]<reasoning>.summary[]<*>.type .input[]<reasoning>.content[]<*>.type " +
      ".input[]<message>.type .input[]<additional_tools>.role .input[]<shell_call_output>.output[].outcome<exit>.type",
    "another field takes its place": ".user .reasoning.generate_summary",
    "the gateway uses it itself": ".background_options .previous_response_id .store",
    "of an item, whose content is read": ".input[]<*>.id .input[]<*>.status",
    "the default": ".tools[]<*>.external_web_access",
    "counts only with its `include`": ".top_logprobs",
    "added by who answered": ".input[]<message>.content[]<output_text>.annotations " +
      ".input[]<message>.content[]<output_text>.logprobs",
    "the caller has applied it": ".input[]<shell_call_output>.max_output_length " +
      ".input[]<shell_call>.environment",
  },
  messages: {
    "always the same": ".tools[]<custom>.type .tools[]<web_search_*>.name " +
      ".tools[]<web_search_*>.user_location<approximate>.type " +
      ".messages[].content[]<*>.source<*>.media_type " +
      ".messages[].content[]<tool_result>.content[]<document>.source<*>.media_type " +
      ".messages[].content[]<*>.source<content>.content[]<text>.type " +
      ".messages[].content[]<search_result>.content[]<text>.type " +
      ".messages[].content[]<tool_result>.content[]<document>.source<content>.content[]<text>.type " +
      ".messages[].content[]<tool_result>.content[]<search_result>.content[]<text>.type",
    "a mark within a block, which can have its own":
      ".messages[].content[]<*>.source<content>.content[]<text>.cache_control " +
      ".messages[].content[]<search_result>.content[]<text>.cache_control " +
      ".messages[].content[]<tool_result>.content[]<document>.source<content>" +
      ".content[]<text>.cache_control " +
      ".messages[].content[]<tool_result>.content[]<search_result>.content[]<text>.cache_control " +
      ".messages[].content[]<tool_result>.content[]<tool_reference>.cache_control",
    "the gateway uses it itself": ".thread",
    "added by who answered": ".messages[].content[]<tool_use>.caller " +
      ".messages[].content[]<compaction>.signature",
  },
  generate: {
    "another field takes its place": ".responseSchema .tools[].functionDeclarations[].parameters",
    "the default": ".responseMimeType .mediaResolution",
    "says nothing about such a part": ".parts[]<*>.thoughtSignature " +
      ".parts[]<*>.mediaResolution .parts[].mediaResolution .parts[]<function*>.videoMetadata " +
      ".parts[]<executableCode>.executableCode.id " +
      ".parts[]<codeExecutionResult>.codeExecutionResult.id",
    "of a content without any part that another dialect has": ".role",
    "the gateway sets it where it is needed": ".toolConfig.includeServerSideToolInvocations",
  },
};

/** Fields of requests that no other dialect has, so that they are reported as lost. */
export const lostInRequests: Readonly<Record<Name, Exceptions>> = {
  chat: {
    "only this dialect has it": ".audio .moderation .prediction .store .stream_options " +
      ".messages[].audio .tool_choice<allowed_tools>.allowed_tools.tools",
  },
  responses: {
    "only this dialect has it": ".access_programs .background .context_management .conversation " +
      ".image .max_tool_calls .moderation .prompt .prompt_cache_options .prompt_cache_retention " +
      ".reasoning.context .reasoning.mode .stream_options .truncation " +
      ".input[]<message>.phase .input[]<*>.async .input[]<*>.caller",
    "how a tool is called": ".tools[]<*>.allowed_callers .tools[]<*>.async " +
      ".tools[]<*>.defer_loading .tools[]<*>.output_schema .tools[]<namespace>",
    "work of the vendor": ".tools[]<file_search> .tools[]<computer_use_preview> .tools[]<mcp> " +
      ".tools[]<code_interpreter> .tools[]<image_generation> .tools[]<shell>.environment " +
      ".tools[]<web_search_preview*>.search_content_types .tool_choice<mcp> " +
      ".tool_choice<allowed_tools>.tools[] .input[]<file_search_call> .input[]<web_search_call> " +
      ".input[]<code_interpreter_call> .input[]<image_generation_call> .input[]<tool_search_call> " +
      ".input[]<tool_search_output> .input[]<mcp_list_tools> " +
      ".input[]<mcp_call> .input[]<compaction>",
  },
  messages: {
    "only this dialect has it": ".billing_policy .container .context_management .diagnostics " +
      ".fallback_credit_token .fallbacks .inference_geo .mcp_servers .output_config.task_budget " +
      ".speed .thinking<*>.block_binding .betas .user_profile_id .workspace_id " +
      ".messages[].clear_at .messages[].content[]<*>.citations " +
      ".messages[].content[]<image>.transformations .messages[].content[]<document>.context " +
      ".messages[].content[]<document>.source<content>.content[]<*>.* " +
      ".messages[].content[]<search_result>.content[]<text>.citations " +
      ".messages[].content[]<*>.toolset_name .messages[].content[]<tool_result>.content[]<*>.* " +
      ".system[]<text>.citations",
    "how a tool is called": ".tools[]<*>.allowed_callers .tools[]<*>.defer_loading " +
      ".tools[]<*>.input_examples .tools[]<custom>.eager_input_streaming " +
      ".tools[]<web_search_*>.strict .tools[]<text_editor_*>.max_characters " +
      ".tools[]<web_search_*>.response_inclusion",
    "work of the vendor": ".tools[]<code_execution_*> .tools[]<browser_toolset_*> " +
      ".tools[]<computer_*> .tools[]<web_fetch_*> .tools[]<advisor_*> " +
      ".tools[]<tool_search_tool_*> .tools[]<mcp_toolset> " +
      ".messages[].content[]<server_tool_use> .messages[].content[]<*_tool_result> " +
      ".messages[].content[]<mcp_tool_use> .messages[].content[]<container_upload> " +
      ".messages[].content[]<compaction> .messages[].content[]<tool_addition> " +
      ".messages[].content[]<tool_removal> .messages[].content[]<mcp_tool_listing> " +
      ".messages[].content[]<fallback>",
  },
  generate: {
    "only this dialect has it": ".routingConfig .modelSelectionConfig .safetySettings .labels " +
      ".cachedContent .responseModalities .speechConfig .audioTimestamp " +
      ".audioTranscriptionConfig .imageConfig .enableEnhancedCivicAnswers .modelArmorConfig " +
      ".continuationToken .automaticContinuation .generationOutputConfig .store " +
      ".toolConfig.functionCallingConfig.streamFunctionCallArguments .toolConfig.retrievalConfig",
    "of a part": ".parts[]<*>.mediaResolution .parts[].mediaResolution " +
      ".parts[]<*>.mediaProcessing .parts[]<*>.partMetadata " +
      ".parts[]<*>.speechMetadata .parts[]<*>.videoMetadata .parts[].mediaProcessing " +
      ".parts[].partMetadata .parts[].speechMetadata .parts[].videoMetadata",
    "how a call or result is streamed": ".parts[]<functionCall>.functionCall.* " +
      ".parts[]<functionResponse>.functionResponse.*",
    "how a tool is called": ".tools[].functionDeclarations[].*",
    "work of the vendor": ".tools[].retrieval .tools[].googleMaps .tools[].mcpServers " +
      ".tools[].codeExecution .tools[].computerUse .tools[].enterpriseWebSearch " +
      ".tools[].exaAiSearch .tools[].googleSearch.* .tools[].googleSearchRetrieval " +
      ".tools[].parallelAiSearch .tools[].urlContext .tools[].fileSearch " +
      ".parts[]<toolCall> .parts[]<toolResponse> .parts[]<audioTranscription>",
  },
};

/** Requests that no other dialect can answer, so that they are refused. */
export const refusedInRequests: Readonly<Record<Name, Exceptions>> = {
  chat: {},
  responses: {
    "work of the vendor, whose next step is the caller's": ".input[]<computer_call> " +
      ".input[]<computer_call_output> .input[]<mcp_approval_request> " +
      ".input[]<mcp_approval_response> .input[]<program> .input[]<program_output> " +
      ".input[]<shell_call>.environment<container_reference>",
    "changes the settings of a call that is stored": ".input[]<configuration_update>",
    "its item is looked up before": ".input[]<item_reference>",
  },
  messages: {},
  generate: {},
};
/** Texts of requests that are named like credentials, but aren't, and that records have. */
export const notCredentials: Readonly<Record<Name, Exceptions>> = {
  chat: {
    "an address of content": ".messages[].content[].image_url",
    "a key of the cache": ".prompt_cache_key",
  },
  responses: {
    "an address of content": ".input[].content[].*_url .input[].output.image_url " +
      ".input[].output[].*_url .input[].outputs[].url .prompt.variables.any.*_url " +
      ".tools[].input_image_mask.image_url",
    "an address that was found": ".input[].content[].annotations[].url .input[].action.url " +
      ".input[].action.sources[].url",
    "a token of text": ".input[].content[].logprobs[].token " +
      ".input[].content[].logprobs[].top_logprobs[].token",
    "a key of the cache, the keyboard or a table": ".prompt_cache_key .input[].action.keys " +
      ".input[].actions[].keys .tools[].filters.key",
    "where the secret is used": ".tools[].*.network_policy.domain_secrets[].domain " +
      ".tools[].*.network_policy.domain_secrets[].name",
  },
  messages: {
    "an address of content": ".messages[].content[].source.url " +
      ".messages[].content[].content[].source.url " +
      ".messages[].content[].source.content[].source.url " +
      ".messages[].content[].content[].source.content[].source.url",
    "an address that was found": ".system[].citations[].url " +
      ".messages[].content[].citations[].url .messages[].content[].source.content[].citations[].url " +
      ".messages[].content[].content[].citations[].url " +
      ".messages[].content[].content[].content[].citations[].url " +
      ".messages[].content[].content[].source.content[].citations[].url " +
      ".messages[].content[].content[].tabs[].url " +
      ".messages[].content[].content[].state_changes[].url .messages[].content[].content[].url " +
      ".messages[].content[].content.url .messages[].content[].content.content",
    "what addresses may be fetched": ".tools[].url_sources",
    "seals thinking": ".messages[].content[].signature",
    "the vendor's own, from an answer that is recorded, too; valid for five minutes":
      ".fallback_credit_token",
  },
  generate: {
    "an address of content": ".contents[].parts[].fileData.fileUri " +
      ".contents[].parts[].functionResponse.parts[].fileData.fileUri",
    "where the vendor writes, with the rights of its key":
      ".generationConfig.generationOutputConfig.outputUriPrefix",
    "seals thinking": ".contents[].parts[].thoughtSignature",
    "the place in an answer": ".generationConfig.continuationToken",
    "proves a speaker's consent to the vendor":
      ".generationConfig.speechConfig.*.replicatedVoiceConfig.voiceConsentSignature " +
      ".generationConfig.speechConfig.*.*[].voiceConfig.replicatedVoiceConfig.voiceConsentSignature",
  },
};
