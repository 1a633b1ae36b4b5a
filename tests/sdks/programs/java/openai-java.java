import com.fasterxml.jackson.annotation.JsonClassDescription;
import com.fasterxml.jackson.annotation.JsonTypeName;
import com.openai.client.OpenAIClient;
import com.openai.core.http.StreamResponse;
import com.openai.helpers.ChatCompletionAccumulator;
import com.openai.helpers.ResponseAccumulator;
import com.openai.models.chat.completions.ChatCompletion;
import com.openai.models.chat.completions.ChatCompletionChunk;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.chat.completions.ChatCompletionMessageToolCall;
import com.openai.models.chat.completions.ChatCompletionStreamOptions;
import com.openai.models.chat.completions.ChatCompletionToolMessageParam;
import com.openai.models.embeddings.EmbeddingCreateParams;
import com.openai.models.responses.Response;
import com.openai.models.responses.ResponseCreateParams;
import com.openai.models.responses.ResponseFunctionToolCall;
import com.openai.models.responses.ResponseInputItem;
import com.openai.models.responses.ResponseOutputItem;
import com.openai.models.responses.ResponseStreamEvent;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

class Program {
    static final OpenAIClient client = Gateway.client();
    static int pieces;

    @JsonTypeName("get_weather")
    @JsonClassDescription("Tells the weather of a city.")
    public static class GetWeather {
        public String city;
    }

    @JsonTypeName("get_time")
    @JsonClassDescription("Tells the time of a city.")
    public static class GetTime {
        public String city;
    }

    public enum Mood { glad, sad }

    public static class Home {
        public String city;
        public Optional<String> country;
    }

    public static class Person {
        public String name;
        public int age;
        public Mood mood;
        public Home home;
    }

    static Map<String, Object> shown(Person person) {
        return Map.of(
            "name", person.name, "age", person.age, "mood", person.mood.name(),
            "home", Map.of("city", person.home.city));
    }

    static ChatCompletionCreateParams.Builder chat(String model, String text) {
        return ChatCompletionCreateParams.builder().model(model).addUserMessage(text);
    }

    static Map<String, Object> shown(ChatCompletion completion) {
        var usage = completion.usage().get();
        String text = completion.choices().get(0).message().content().orElse("");
        return Report.answer(text, usage.promptTokens(), usage.completionTokens());
    }

    static ChatCompletion streamed(ChatCompletionCreateParams.Builder params) {
        params.streamOptions(ChatCompletionStreamOptions.builder().includeUsage(true).build());
        ChatCompletionAccumulator accumulator = ChatCompletionAccumulator.create();
        pieces = 0;
        try (StreamResponse<ChatCompletionChunk> stream = client.chat().completions().createStreaming(params.build())) {
            stream.stream().forEach(chunk -> {
                accumulator.accumulate(chunk);
                if (chunk.choices().stream().anyMatch(one -> one.delta().content().isPresent())) pieces++;
            });
        }
        return accumulator.chatCompletion();
    }

    static Map<String, Object> toolsChat(String model, String text) throws Exception {
        var params = chat(model, text).addTool(GetWeather.class).addTool(GetTime.class);
        while (true) {
            ChatCompletion completion = streamed(params);
            var message = completion.choices().get(0).message();
            List<ChatCompletionMessageToolCall> called = message.toolCalls().orElse(List.of());
            if (called.isEmpty()) return shown(completion);
            params.addMessage(message);
            for (var one : called) {
                var call = one.asFunction();
                String name = call.function().name();
                String result = Report.execute(name, Report.cityOf(call.function().arguments()));
                params.addMessage(ChatCompletionToolMessageParam.builder().toolCallId(call.id()).content(result).build());
            }
        }
    }

    static Map<String, Object> objectChat(String model, String text) {
        var completion = client.chat().completions().create(chat(model, text).responseFormat(Person.class).build());
        Person person = completion.choices().get(0).message().content().get();
        return Report.with(Report.answer("", null, null), "object", shown(person));
    }

    static Map<String, Object> embed(String model, String text) {
        var made = client.embeddings().create(
            EmbeddingCreateParams.builder().model(model).inputOfArrayOfStrings(List.of(text, "a house")).build());
        int dimensions = made.data().get(1).embedding().size();
        return Report.with(Report.answer("", made.usage().promptTokens(), null), "dimensions", dimensions);
    }

    static ResponseCreateParams.Builder responses(String model, String text) {
        return ResponseCreateParams.builder().model(model).input(text);
    }

    static Map<String, Object> shown(Response response) {
        StringBuilder text = new StringBuilder();
        response.output().stream().flatMap(item -> item.message().stream())
            .flatMap(message -> message.content().stream())
            .flatMap(content -> content.outputText().stream())
            .forEach(part -> text.append(part.text()));
        var usage = response.usage().get();
        return Report.answer(text.toString(), usage.inputTokens(), usage.outputTokens());
    }

    static Response streamed(ResponseCreateParams.Builder params) {
        ResponseAccumulator accumulator = ResponseAccumulator.create();
        pieces = 0;
        try (StreamResponse<ResponseStreamEvent> stream = client.responses().createStreaming(params.build())) {
            stream.stream().forEach(event -> {
                accumulator.accumulate(event);
                if (event.isOutputTextDelta()) pieces++;
                // The library gives a failure within a stream as an event.
                event.failed().ifPresent(failed -> {
                    throw new IllegalStateException(failed.response().error().get().message());
                });
            });
        }
        return accumulator.response();
    }

    static Map<String, Object> toolsResponses(String model, String text) throws Exception {
        var params = responses(model, text).addTool(GetWeather.class).addTool(GetTime.class);
        while (true) {
            Response response = streamed(params);
            List<ResponseInputItem> results = new ArrayList<>();
            for (ResponseOutputItem item : response.output()) {
                if (!item.isFunctionCall()) continue;
                ResponseFunctionToolCall call = item.asFunctionCall();
                String result = Report.execute(call.name(), Report.cityOf(call.arguments()));
                results.add(ResponseInputItem.ofFunctionCallOutput(
                    ResponseInputItem.FunctionCallOutput.builder().callId(call.callId()).output(result).build()));
            }
            if (results.isEmpty()) return shown(response);
            params.previousResponseId(response.id()).inputOfResponse(results);
        }
    }

    static Map<String, Object> objectResponses(String model, String text) {
        var response = client.responses().create(responses(model, text).text(Person.class).build());
        Person person = response.output().stream().flatMap(item -> item.message().stream())
            .flatMap(message -> message.content().stream())
            .flatMap(content -> content.outputText().stream()).findFirst().get();
        return Report.with(Report.answer("", null, null), "object", shown(person));
    }

    public static void main(String[] args) throws Exception {
        Report report = new Report();
        if (Report.lane.equals("chat")) {
            report.on("whole", (model, text) -> shown(client.chat().completions().create(chat(model, text).build())))
                .on("stream", (model, text) -> Report.with(shown(streamed(chat(model, text))), "pieces", pieces))
                .on("tools", Program::toolsChat)
                .on("object", Program::objectChat)
                .on("embed", Program::embed);
        } else {
            report.on("whole", (model, text) -> shown(client.responses().create(responses(model, text).build())))
                .on("stream", (model, text) -> Report.with(shown(streamed(responses(model, text))), "pieces", pieces))
                .on("tools", Program::toolsResponses)
                .on("object", Program::objectResponses);
        }
        report.run();
    }
}
