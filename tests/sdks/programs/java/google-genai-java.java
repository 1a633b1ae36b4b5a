import com.google.genai.Chat;
import com.google.genai.Client;
import com.google.genai.ResponseStream;
import com.google.genai.types.Content;
import com.google.genai.types.EmbedContentConfig;
import com.google.genai.types.FunctionCall;
import com.google.genai.types.FunctionDeclaration;
import com.google.genai.types.FunctionResponse;
import com.google.genai.types.GenerateContentConfig;
import com.google.genai.types.GenerateContentResponse;
import com.google.genai.types.GenerateContentResponseUsageMetadata;
import com.google.genai.types.Part;
import com.google.genai.types.Tool;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

class Program {
    static final Client client = Gateway.client();

    static final Map<String, Object> city = Map.of(
        "type", "object",
        "properties", Map.of("city", Map.of("type", "string", "description", "Name of the city")),
        "required", List.of("city"));

    static final Map<String, Object> person = Map.of(
        "type", "object",
        "properties", Map.of(
            "name", Map.of("type", "string"),
            "age", Map.of("type", "integer"),
            "mood", Map.of("type", "string", "enum", List.of("glad", "sad")),
            "home", Map.of(
                "type", "object",
                "properties", Map.of(
                    "city", Map.of("type", "string"),
                    "country", Map.of("type", List.of("string", "null"))),
                "required", List.of("city", "country"),
                "additionalProperties", false)),
        "required", List.of("name", "age", "mood", "home"),
        "additionalProperties", false);

    static Map<String, Object> shown(String text, GenerateContentResponseUsageMetadata usage) {
        int input = usage.promptTokenCount().orElse(0) + usage.toolUsePromptTokenCount().orElse(0);
        int output = usage.candidatesTokenCount().orElse(0) + usage.thoughtsTokenCount().orElse(0);
        return Report.answer(text, input, output);
    }

    static Map<String, Object> ask(String model, String text) {
        GenerateContentResponse response = client.models.generateContent(model, text, null);
        return shown(response.text(), response.usageMetadata().get());
    }

    static Map<String, Object> stream(String model, String text) {
        StringBuilder said = new StringBuilder();
        int pieces = 0;
        GenerateContentResponseUsageMetadata usage = null;
        try (ResponseStream<GenerateContentResponse> stream = client.models.generateContentStream(model, text, null)) {
            for (GenerateContentResponse chunk : stream) {
                String piece = chunk.text();
                if (piece != null && !piece.isEmpty()) {
                    said.append(piece);
                    pieces++;
                }
                usage = chunk.usageMetadata().orElse(usage);
            }
        }
        return Report.with(shown(said.toString(), usage), "pieces", pieces);
    }

    static FunctionDeclaration declaration(String name) {
        return FunctionDeclaration.builder().name(name)
            .description("Tells the " + name.substring(4) + " of a city.").parametersJsonSchema(city).build();
    }

    /** A chat keeps every part of every chunk in its history, and sends all of it again. */
    static Map<String, Object> tools(String model, String text) throws Exception {
        Tool tool = Tool.builder().functionDeclarations(declaration("get_weather"), declaration("get_time")).build();
        Chat chat = client.chats.create(model, GenerateContentConfig.builder().tools(tool).build());
        Content content = Content.fromParts(Part.fromText(text));
        while (true) {
            StringBuilder said = new StringBuilder();
            List<Part> results = new ArrayList<>();
            GenerateContentResponseUsageMetadata usage = null;
            for (GenerateContentResponse chunk : chat.sendMessageStream(content)) {
                if (chunk.functionCalls() == null || chunk.functionCalls().isEmpty()) {
                    if (chunk.text() != null) said.append(chunk.text());
                } else {
                    for (FunctionCall call : chunk.functionCalls()) results.add(resultOf(call));
                }
                usage = chunk.usageMetadata().orElse(usage);
            }
            if (results.isEmpty()) return shown(said.toString(), usage);
            content = Content.builder().role("user").parts(results).build();
        }
    }

    static Part resultOf(FunctionCall call) throws Exception {
        String name = call.name().get();
        String result = Report.execute(name, Report.cityOf(call.args().get()));
        var response = FunctionResponse.builder().name(name).response(Map.of("output", result));
        call.id().ifPresent(response::id);
        return Part.builder().functionResponse(response.build()).build();
    }

    static Map<String, Object> object(String model, String text) throws Exception {
        var config = GenerateContentConfig.builder()
            .responseMimeType("application/json").responseJsonSchema(person).build();
        GenerateContentResponse response = client.models.generateContent(model, text, config);
        Map<String, Object> found = shown("", response.usageMetadata().get());
        return Report.with(found, "object", Report.json.readValue(response.text(), Map.class));
    }

    static Map<String, Object> embed(String model, String text) {
        var made = client.models.embedContent(model, List.of(text, "a house"), EmbedContentConfig.builder().build());
        int dimensions = made.embeddings().get().get(1).values().get().size();
        return Report.with(Report.answer("", null, null), "dimensions", dimensions);
    }

    public static void main(String[] args) throws Exception {
        new Report()
            .on("whole", Program::ask)
            .on("stream", Program::stream)
            .on("tools", Program::tools)
            .on("object", Program::object)
            .on("embed", Program::embed)
            .run();
    }
}
