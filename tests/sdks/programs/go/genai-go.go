package main

import (
	"context"
	"encoding/json"

	"google.golang.org/genai"
)

var client, ctx = newClient(), context.Background()

func usageOf(usage *genai.GenerateContentResponseUsageMetadata) (int64, int64) {
	if usage == nil {
		return 0, 0
	}
	input := int64(usage.PromptTokenCount) + int64(usage.ToolUsePromptTokenCount)
	return input, int64(usage.CandidatesTokenCount) + int64(usage.ThoughtsTokenCount)
}

func askGenerate(model, text string) (result, error) {
	response, err := client.Models.GenerateContent(ctx, model, genai.Text(text), nil)
	if err != nil {
		return nil, err
	}
	input, output := usageOf(response.UsageMetadata)
	return answer(response.Text(), input, output), nil
}

func streamGenerate(model, text string) (result, error) {
	said, pieces := "", 0
	var usage *genai.GenerateContentResponseUsageMetadata
	for chunk, err := range client.Models.GenerateContentStream(ctx, model, genai.Text(text), nil) {
		if err != nil {
			return nil, err
		}
		if piece := chunk.Text(); piece != "" {
			said, pieces = said+piece, pieces+1
		}
		usage = chunk.UsageMetadata
	}
	input, output := usageOf(usage)
	found := answer(said, input, output)
	found["pieces"] = pieces
	return found, nil
}

// A chat keeps every part of every chunk in its history, and sends all of it again.
func toolsGenerate(model, text string) (result, error) {
	var declarations []*genai.FunctionDeclaration
	for _, tool := range tools {
		declarations = append(declarations, &genai.FunctionDeclaration{
			Name: tool.name, Description: tool.description, ParametersJsonSchema: parameters,
		})
	}
	config := &genai.GenerateContentConfig{Tools: []*genai.Tool{{FunctionDeclarations: declarations}}}
	chat, err := client.Chats.Create(ctx, model, config, nil)
	if err != nil {
		return nil, err
	}
	parts := []genai.Part{{Text: text}}
	for {
		said, usage, results := "", (*genai.GenerateContentResponseUsageMetadata)(nil), []genai.Part{}
		for chunk, err := range chat.SendMessageStream(ctx, parts...) {
			if err != nil {
				return nil, err
			}
			said, usage = said+chunk.Text(), chunk.UsageMetadata
			for _, call := range chunk.FunctionCalls() {
				arguments, _ := json.Marshal(call.Args)
				results = append(results, genai.Part{FunctionResponse: &genai.FunctionResponse{
					ID: call.ID, Name: call.Name,
					Response: map[string]any{"output": execute(call.Name, string(arguments))},
				}})
			}
		}
		if len(results) == 0 {
			input, output := usageOf(usage)
			return answer(said, input, output), nil
		}
		parts = results
	}
}

func objectGenerate(model, text string) (result, error) {
	config := &genai.GenerateContentConfig{ResponseMIMEType: "application/json", ResponseJsonSchema: person}
	response, err := client.Models.GenerateContent(ctx, model, genai.Text(text), config)
	if err != nil {
		return nil, err
	}
	input, output := usageOf(response.UsageMetadata)
	return parsed(response.Text(), input, output)
}

func embed(model, text string) (result, error) {
	contents := append(genai.Text(text), genai.Text("a house")...)
	made, err := client.Models.EmbedContent(ctx, model, contents, nil)
	if err != nil {
		return nil, err
	}
	return result{"text": "", "dimensions": len(made.Embeddings[1].Values)}, nil
}

func main() {
	program{askGenerate, streamGenerate, toolsGenerate, objectGenerate, embed}.run()
}
