package main

import (
	"context"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

var client, ctx = newClient(), context.Background()

func chatParams(model, text string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:    model,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)},
	}
}

func chatResult(completion openai.ChatCompletion) result {
	usage := completion.Usage
	return answer(completion.Choices[0].Message.Content, usage.PromptTokens, usage.CompletionTokens)
}

func askChat(model, text string) (result, error) {
	completion, err := client.Chat.Completions.New(ctx, chatParams(model, text))
	if err != nil {
		return nil, err
	}
	return chatResult(*completion), nil
}

func streamedChat(params openai.ChatCompletionNewParams) (openai.ChatCompletion, int, error) {
	params.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
	stream := client.Chat.Completions.NewStreaming(ctx, params)
	accumulator, pieces := openai.ChatCompletionAccumulator{}, 0
	for stream.Next() {
		chunk := stream.Current()
		accumulator.AddChunk(chunk)
		if len(chunk.Choices) > 0 && chunk.Choices[0].Delta.Content != "" {
			pieces++
		}
	}
	return accumulator.ChatCompletion, pieces, stream.Err()
}

func streamChat(model, text string) (result, error) {
	completion, pieces, err := streamedChat(chatParams(model, text))
	if err != nil {
		return nil, err
	}
	found := chatResult(completion)
	found["pieces"] = pieces
	return found, nil
}

func toolsChat(model, text string) (result, error) {
	params := chatParams(model, text)
	for _, tool := range tools {
		params.Tools = append(params.Tools, openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name:        tool.name,
			Description: openai.String(tool.description),
			Parameters:  parameters,
		}))
	}
	for {
		completion, _, err := streamedChat(params)
		if err != nil {
			return nil, err
		}
		message := completion.Choices[0].Message
		if len(message.ToolCalls) == 0 {
			return chatResult(completion), nil
		}
		params.Messages = append(params.Messages, message.ToParam())
		for _, call := range message.ToolCalls {
			content := execute(call.Function.Name, call.Function.Arguments)
			params.Messages = append(params.Messages, openai.ToolMessage(content, call.ID))
		}
	}
}

func objectChat(model, text string) (result, error) {
	params := chatParams(model, text)
	params.ResponseFormat = openai.ChatCompletionNewParamsResponseFormatUnion{
		OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
				Name: "person", Schema: person, Strict: openai.Bool(true),
			},
		},
	}
	completion, err := client.Chat.Completions.New(ctx, params)
	if err != nil {
		return nil, err
	}
	usage := completion.Usage
	return parsed(completion.Choices[0].Message.Content, usage.PromptTokens, usage.CompletionTokens)
}

func embed(model, text string) (result, error) {
	made, err := client.Embeddings.New(ctx, openai.EmbeddingNewParams{
		Model: model,
		Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{text, "a house"}},
	})
	if err != nil {
		return nil, err
	}
	found := answer("", made.Usage.PromptTokens, 0)
	found["dimensions"] = len(made.Data[1].Embedding)
	return found, nil
}

func responseParams(model, text string) responses.ResponseNewParams {
	return responses.ResponseNewParams{
		Model: model,
		Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(text)},
	}
}

func responseResult(response *responses.Response) result {
	return answer(response.OutputText(), response.Usage.InputTokens, response.Usage.OutputTokens)
}

func askResponses(model, text string) (result, error) {
	response, err := client.Responses.New(ctx, responseParams(model, text))
	if err != nil {
		return nil, err
	}
	return responseResult(response), nil
}

func streamedResponses(params responses.ResponseNewParams) (*responses.Response, int, error) {
	stream := client.Responses.NewStreaming(ctx, params)
	var whole responses.Response
	pieces := 0
	for stream.Next() {
		switch event := stream.Current().AsAny().(type) {
		case responses.ResponseTextDeltaEvent:
			pieces++
		case responses.ResponseCompletedEvent:
			whole = event.Response
		}
	}
	return &whole, pieces, stream.Err()
}

func streamResponses(model, text string) (result, error) {
	response, pieces, err := streamedResponses(responseParams(model, text))
	if err != nil {
		return nil, err
	}
	found := responseResult(response)
	found["pieces"] = pieces
	return found, nil
}

func toolsResponses(model, text string) (result, error) {
	params := responseParams(model, text)
	for _, tool := range tools {
		params.Tools = append(params.Tools, responses.ToolUnionParam{OfFunction: &responses.FunctionToolParam{
			Name:        tool.name,
			Description: openai.String(tool.description),
			Parameters:  parameters,
			Strict:      openai.Bool(true),
		}})
	}
	for {
		response, _, err := streamedResponses(params)
		if err != nil {
			return nil, err
		}
		var items responses.ResponseInputParam
		for _, item := range response.Output {
			if item.Type == "function_call" {
				call := item.AsFunctionCall()
				output := responses.ResponseInputItemParamOfFunctionCallOutput(execute(call.Name, call.Arguments))
				output.OfFunctionCallOutput.CallID = param.NewOpt(call.CallID)
				items = append(items, output)
			}
		}
		if len(items) == 0 {
			return responseResult(response), nil
		}
		params.PreviousResponseID = param.NewOpt(response.ID)
		params.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: items}
	}
}

func objectResponses(model, text string) (result, error) {
	params := responseParams(model, text)
	params.Text = responses.ResponseTextConfigParam{
		Format: responses.ResponseFormatTextConfigUnionParam{
			OfJSONSchema: &responses.ResponseFormatTextJSONSchemaConfigParam{
				Name: "person", Schema: person, Strict: openai.Bool(true),
			},
		},
	}
	response, err := client.Responses.New(ctx, params)
	if err != nil {
		return nil, err
	}
	return parsed(response.OutputText(), response.Usage.InputTokens, response.Usage.OutputTokens)
}

func main() {
	if lane == "chat" {
		program{askChat, streamChat, toolsChat, objectChat, embed}.run()
	} else {
		program{askResponses, streamResponses, toolsResponses, objectResponses, nil}.run()
	}
}
