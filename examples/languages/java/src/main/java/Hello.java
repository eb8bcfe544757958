import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;

public class Hello {
  public static void main(String[] args) throws Exception {
    var body = "Hello from Java\n".getBytes(StandardCharsets.UTF_8);
    var host = System.getenv().getOrDefault("HOST", "0.0.0.0");
    var port = Integer.parseInt(System.getenv("PORT"));
    var server = HttpServer.create(new InetSocketAddress(host, port), 0);
    server.createContext("/", exchange -> {
      exchange.sendResponseHeaders(200, body.length);
      exchange.getResponseBody().write(body);
      exchange.close();
    });
    server.start();
  }
}
