package main

import (
	"context"

	"github.com/anthropics/anthropic-sdk-go"
)

var client, ctx = newClient(), context.Background()

func paramsOf(model, text string) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model:     anthropic.Model(model),
		MaxTokens: 4000,
		Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(text))},
	}
}

func textOf(message anthropic.Message) string {
	text := ""
	for _, block := range message.Content {
		text += block.Text
	}
	return text
}

func messageResult(message anthropic.Message) result {
	return answer(textOf(message), message.Usage.InputTokens, message.Usage.OutputTokens)
}

func askMessages(model, text string) (result, error) {
	message, err := client.Messages.New(ctx, paramsOf(model, text))
	if err != nil {
		return nil, err
	}
	return messageResult(*message), nil
}

func streamed(params anthropic.MessageNewParams) (anthropic.Message, int, error) {
	stream := client.Messages.NewStreaming(ctx, params)
	message, pieces := anthropic.Message{}, 0
	for stream.Next() {
		event := stream.Current()
		if err := message.Accumulate(event); err != nil {
			return message, pieces, err
		}
		if event.Type == "content_block_delta" && event.Delta.Type == "text_delta" {
			pieces++
		}
	}
	return message, pieces, stream.Err()
}

func streamMessages(model, text string) (result, error) {
	message, pieces, err := streamed(paramsOf(model, text))
	if err != nil {
		return nil, err
	}
	found := messageResult(message)
	found["pieces"] = pieces
	return found, nil
}

func toolsMessages(model, text string) (result, error) {
	params := paramsOf(model, text)
	for _, tool := range tools {
		params.Tools = append(params.Tools, anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{
			Name:        tool.name,
			Description: anthropic.String(tool.description),
			InputSchema: anthropic.ToolInputSchemaParam{
				Properties: parameters["properties"],
				Required:   []string{"city"},
			},
		}})
	}
	for {
		message, _, err := streamed(params)
		if err != nil {
			return nil, err
		}
		var results []anthropic.ContentBlockParamUnion
		for _, block := range message.Content {
			if block.Type == "tool_use" {
				content := execute(block.Name, string(block.Input))
				results = append(results, anthropic.NewToolResultBlock(block.ID, content, false))
			}
		}
		if len(results) == 0 {
			return messageResult(message), nil
		}
		params.Messages = append(params.Messages, message.ToParam(), anthropic.NewUserMessage(results...))
	}
}

func objectMessages(model, text string) (result, error) {
	params := paramsOf(model, text)
	params.OutputConfig = anthropic.OutputConfigParam{Format: anthropic.JSONOutputFormatParam{Schema: person}}
	message, err := client.Messages.New(ctx, params)
	if err != nil {
		return nil, err
	}
	return parsed(textOf(*message), message.Usage.InputTokens, message.Usage.OutputTokens)
}

func main() {
	program{askMessages, streamMessages, toolsMessages, objectMessages, nil}.run()
}
