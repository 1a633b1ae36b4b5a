import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ResponseFormat;
import dev.langchain4j.model.chat.request.ResponseFormatType;
import dev.langchain4j.model.chat.request.json.JsonEnumSchema;
import dev.langchain4j.model.chat.request.json.JsonObjectSchema;
import dev.langchain4j.model.chat.request.json.JsonSchema;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;

class Program {
    static final JsonObjectSchema city =
        JsonObjectSchema.builder().addStringProperty("city", "Name of the city").required("city").build();

    static final JsonObjectSchema home =
        JsonObjectSchema.builder().addStringProperty("city").addStringProperty("country").required("city", "country").build();

    static final JsonObjectSchema person = JsonObjectSchema.builder()
        .addStringProperty("name")
        .addIntegerProperty("age")
        .addProperty("mood", JsonEnumSchema.builder().enumValues("glad", "sad").build())
        .addProperty("home", home)
        .required("name", "age", "mood", "home")
        .build();

    static Map<String, Object> shown(ChatResponse response) {
        var usage = response.tokenUsage();
        return Report.answer(response.aiMessage().text(), usage.inputTokenCount(), usage.outputTokenCount());
    }

    static Map<String, Object> ask(String model, String text) {
        return shown(Gateway.chat(model).chat(UserMessage.from(text)));
    }

    static ChatResponse streamed(String model, ChatRequest request, AtomicInteger pieces) throws Exception {
        CompletableFuture<ChatResponse> whole = new CompletableFuture<>();
        Gateway.streaming(model).chat(request, new StreamingChatResponseHandler() {
            @Override
            public void onPartialResponse(String piece) {
                pieces.incrementAndGet();
            }

            @Override
            public void onCompleteResponse(ChatResponse response) {
                whole.complete(response);
            }

            @Override
            public void onError(Throwable error) {
                whole.completeExceptionally(error);
            }
        });
        try {
            return whole.get();
        } catch (ExecutionException error) {
            throw error.getCause() instanceof Exception cause ? cause : error;
        }
    }

    static Map<String, Object> stream(String model, String text) throws Exception {
        AtomicInteger pieces = new AtomicInteger();
        ChatRequest request = ChatRequest.builder().messages(UserMessage.from(text)).build();
        return Report.with(shown(streamed(model, request, pieces)), "pieces", pieces.get());
    }

    static ToolSpecification tool(String name) {
        String description = "Tells the " + name.substring(4) + " of a city.";
        return ToolSpecification.builder().name(name).description(description).parameters(city).build();
    }

    static Map<String, Object> tools(String model, String text) throws Exception {
        List<ChatMessage> messages = new ArrayList<>(List.of(UserMessage.from(text)));
        while (true) {
            ChatRequest request = ChatRequest.builder().messages(messages)
                .toolSpecifications(tool("get_weather"), tool("get_time")).build();
            ChatResponse response = streamed(model, request, new AtomicInteger());
            if (!response.aiMessage().hasToolExecutionRequests()) return shown(response);
            messages.add(response.aiMessage());
            for (ToolExecutionRequest call : response.aiMessage().toolExecutionRequests()) {
                String result = Report.execute(call.name(), Report.cityOf(call.arguments()));
                messages.add(ToolExecutionResultMessage.from(call, result));
            }
        }
    }

    static Map<String, Object> object(String model, String text) throws Exception {
        ResponseFormat format = ResponseFormat.builder().type(ResponseFormatType.JSON)
            .jsonSchema(JsonSchema.builder().name("person").rootElement(person).build()).build();
        ChatRequest request = ChatRequest.builder().messages(UserMessage.from(text)).responseFormat(format).build();
        ChatResponse response = Gateway.chat(model).chat(request);
        Map<String, Object> found = Report.with(shown(response), "text", "");
        return Report.with(found, "object", Report.json.readValue(response.aiMessage().text(), Map.class));
    }

    public static void main(String[] args) throws Exception {
        new Report()
            .on("whole", Program::ask)
            .on("stream", Program::stream)
            .on("tools", Program::tools)
            .on("object", Program::object)
            .run();
    }
}
