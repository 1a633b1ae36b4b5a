package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"strings"
)

// Asks what every client is asked, and prints what came of it: one line of JSON for each.

type result map[string]any

type ask func(model, text string) (result, error)

type program struct{ ask, stream, tools, object, embed ask }

var calls [][]string

var lane = os.Getenv("LANE")

var parameters = map[string]any{
	"type":                 "object",
	"properties":           map[string]any{"city": map[string]any{"type": "string", "description": "Name of the city"}},
	"required":             []string{"city"},
	"additionalProperties": false,
}

var tools = []struct{ name, description, result string }{
	{"get_weather", "Tells the weather of a city.", "sunny, 21 °C"},
	{"get_time", "Tells the time of a city.", "12:30"},
}

var person = map[string]any{
	"type": "object",
	"properties": map[string]any{
		"name": map[string]any{"type": "string"},
		"age":  map[string]any{"type": "integer"},
		"mood": map[string]any{"type": "string", "enum": []string{"glad", "sad"}},
		"home": map[string]any{
			"type": "object",
			"properties": map[string]any{
				"city":    map[string]any{"type": "string"},
				"country": map[string]any{"type": []string{"string", "null"}},
			},
			"required":             []string{"city", "country"},
			"additionalProperties": false,
		},
	},
	"required":             []string{"name", "age", "mood", "home"},
	"additionalProperties": false,
}

func execute(name, arguments string) string {
	var given struct{ City string }
	if err := json.Unmarshal([]byte(arguments), &given); err != nil {
		panic(err)
	}
	calls = append(calls, []string{name, given.City})
	for _, tool := range tools {
		if tool.name == name {
			return tool.result
		}
	}
	panic("unknown tool " + name)
}

func answer(text string, input, output int64) result {
	return result{"text": text, "input": input, "output": output}
}

func parsed(text string, input, output int64) (result, error) {
	var object map[string]any
	err := json.Unmarshal([]byte(text), &object)
	return result{"text": "", "input": input, "output": output, "object": object}, err
}

func (p program) run() {
	var asks map[string]string
	if err := json.Unmarshal([]byte(os.Getenv("ASKS")), &asks); err != nil {
		panic(err)
	}
	model := os.Getenv("MODEL")
	feature := func(name string, run ask, model string) {
		if run == nil || model == "" {
			return
		}
		calls = [][]string{}
		found := protected(run, model, asks[name])
		found["feature"], found["calls"] = name, calls
		line, _ := json.Marshal(found)
		fmt.Println(string(line))
	}
	feature("whole", p.ask, model)
	feature("stream", p.stream, model)
	feature("tools", p.tools, model)
	feature("object", p.object, model)
	feature("embed", p.embed, os.Getenv("EMBEDDING"))
	feature("missing", p.ask, os.Getenv("MISSING"))
	feature("limited", p.ask, model)
	feature("repeated", p.ask, model)
	feature("broken", p.stream, model)
}

func protected(run ask, model, text string) (found result) {
	defer func() {
		if thrown := recover(); thrown != nil {
			found = result{"thrown": "panic", "message": fmt.Sprint(thrown)}
		}
	}()
	found, err := run(model, text)
	if err == nil {
		return found
	}
	kind := strings.TrimPrefix(fmt.Sprintf("%T", err), "*")
	found = result{"thrown": kind, "message": err.Error()}
	for one := err; one != nil; one = errors.Unwrap(one) {
		value := reflect.Indirect(reflect.ValueOf(one))
		if value.Kind() != reflect.Struct {
			continue
		}
		for _, name := range []string{"StatusCode", "Code"} {
			if field := value.FieldByName(name); field.IsValid() && field.CanInt() {
				found["status"] = field.Int()
			}
		}
		if field := value.FieldByName("Response"); field.IsValid() && field.CanInterface() {
			if response, isHTTP := field.Interface().(*http.Response); isHTTP && response != nil {
				found["request_id"] = response.Header.Get("X-Request-ID")
			}
		}
	}
	return found
}
