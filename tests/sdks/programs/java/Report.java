import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Asks what every client is asked, and prints what came of it: one line of JSON for each. */
class Report {
    interface Ask {
        Map<String, Object> run(String model, String text) throws Exception;
    }

    static final ObjectMapper json = new ObjectMapper();
    static final String lane = System.getenv("LANE");
    private static final List<List<String>> calls = new ArrayList<>();
    private final Map<String, Ask> asks = new LinkedHashMap<>();

    static Map<String, Object> answer(String text, Number input, Number output) {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("text", text);
        found.put("input", input);
        found.put("output", output);
        return found;
    }

    static Map<String, Object> with(Map<String, Object> found, String name, Object value) {
        found.put(name, value);
        return found;
    }

    /** What a tool's function does. */
    static String execute(String name, String city) {
        calls.add(List.of(name, city));
        return name.equals("get_weather") ? "sunny, 21 °C" : "12:30";
    }

    static String cityOf(Object arguments) throws Exception {
        JsonNode node = arguments instanceof String text ? json.readTree(text) : json.valueToTree(arguments);
        return node.get("city").asText();
    }

    Report on(String feature, Ask ask) {
        asks.put(feature, ask);
        return this;
    }

    void run() throws Exception {
        JsonNode texts = json.readTree(System.getenv("ASKS"));
        String model = System.getenv("MODEL");
        for (String name : List.of("whole", "stream", "tools", "object", "embed", "missing", "limited", "repeated", "broken")) {
            boolean streams = name.equals("broken");
            boolean fails = List.of("missing", "limited", "repeated").contains(name);
            Ask ask = asks.get(streams ? "stream" : fails ? "whole" : name);
            String asked = name.equals("missing") ? System.getenv("MISSING")
                : name.equals("embed") ? System.getenv("EMBEDDING") : model;
            if (ask == null || asked.isEmpty()) continue;
            calls.clear();
            Map<String, Object> found;
            try {
                found = ask.run(asked, texts.get(name).asText());
            } catch (Exception error) {
                found = thrown(error);
            }
            found.put("feature", name);
            found.put("calls", calls);
            System.out.println(json.writeValueAsString(found));
        }
        System.exit(0);
    }

    private static Map<String, Object> thrown(Exception error) {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("thrown", error.getClass().getSimpleName());
        found.put("message", String.valueOf(error.getMessage()));
        for (Throwable one = error; one != null; one = one.getCause()) {
            Object status = call(one, "statusCode");
            if (status == null) status = call(one, "code");
            if (status instanceof Integer) found.putIfAbsent("status", status);
            Object headers = call(one, "headers");
            if (headers == null) continue;
            try {
                Method values = headers.getClass().getMethod("values", String.class);
                List<?> ids = (List<?>) values.invoke(headers, "x-request-id");
                if (!ids.isEmpty()) found.putIfAbsent("request_id", ids.get(0));
            } catch (ReflectiveOperationException other) {
                // Headers of another kind.
            }
        }
        return found;
    }

    private static Object call(Object target, String method) {
        try {
            return target.getClass().getMethod(method).invoke(target);
        } catch (ReflectiveOperationException absent) {
            return null;
        }
    }
}
