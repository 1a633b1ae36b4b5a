import com.anthropic.client.AnthropicClient;
import com.anthropic.core.JsonValue;
import com.anthropic.core.http.StreamResponse;
import com.anthropic.helpers.MessageAccumulator;
import com.anthropic.models.messages.ContentBlock;
import com.anthropic.models.messages.ContentBlockParam;
import com.anthropic.models.messages.Message;
import com.anthropic.models.messages.MessageCreateParams;
import com.anthropic.models.messages.RawMessageStreamEvent;
import com.anthropic.models.messages.Tool;
import com.anthropic.models.messages.ToolResultBlockParam;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

class Program {
    static final AnthropicClient client = Gateway.client();
    static int pieces;

    static Tool tool(String name) {
        return Tool.builder().name(name).description("Tells the " + name.substring(4) + " of a city.")
            .inputSchema(Tool.InputSchema.builder()
                .properties(Tool.InputSchema.Properties.builder()
                    .putAdditionalProperty("city", JsonValue.from(Map.of("type", "string"))).build())
                .required(List.of("city")).build())
            .build();
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

    static MessageCreateParams.Builder params(String model, String text) {
        return MessageCreateParams.builder().model(model).maxTokens(4000L).addUserMessage(text);
    }

    static Map<String, Object> shown(Message message) {
        StringBuilder text = new StringBuilder();
        message.content().stream().flatMap(block -> block.text().stream()).forEach(block -> text.append(block.text()));
        return Report.answer(text.toString(), message.usage().inputTokens(), message.usage().outputTokens());
    }

    static Message streamed(MessageCreateParams.Builder params) {
        MessageAccumulator accumulator = MessageAccumulator.create();
        pieces = 0;
        try (StreamResponse<RawMessageStreamEvent> stream = client.messages().createStreaming(params.build())) {
            stream.stream().forEach(event -> {
                accumulator.accumulate(event);
                event.contentBlockDelta().ifPresent(delta -> {
                    if (delta.delta().isText()) pieces++;
                });
            });
        }
        return accumulator.message();
    }

    static Map<String, Object> tools(String model, String text) throws Exception {
        var params = params(model, text).addTool(tool("get_weather")).addTool(tool("get_time"));
        while (true) {
            Message message = streamed(params);
            List<ContentBlockParam> results = new ArrayList<>();
            for (ContentBlock block : message.content()) {
                if (!block.isToolUse()) continue;
                var use = block.asToolUse();
                String result = Report.execute(use.name(), Report.cityOf(use._input().convert(Map.class)));
                results.add(ContentBlockParam.ofToolResult(
                    ToolResultBlockParam.builder().toolUseId(use.id()).content(result).build()));
            }
            if (results.isEmpty()) return shown(message);
            params.addMessage(message).addUserMessageOfContentBlockParams(results);
        }
    }

    static Map<String, Object> object(String model, String text) {
        var message = client.messages().create(params(model, text).outputConfig(Person.class).build());
        Person person = message.content().stream().flatMap(block -> block.text().stream()).findFirst().get().text();
        Map<String, Object> object = Map.of(
            "name", person.name, "age", person.age, "mood", person.mood.name(),
            "home", Map.of("city", person.home.city));
        return Report.with(Report.answer("", null, null), "object", object);
    }

    public static void main(String[] args) throws Exception {
        new Report()
            .on("whole", (model, text) -> shown(client.messages().create(params(model, text).build())))
            .on("stream", (model, text) -> Report.with(shown(streamed(params(model, text))), "pieces", pieces))
            .on("tools", Program::tools)
            .on("object", Program::object)
            .run();
    }
}
