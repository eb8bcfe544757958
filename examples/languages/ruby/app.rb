require "socket"

server = TCPServer.new(ENV.fetch("HOST", "0.0.0.0"), ENV.fetch("PORT").to_i)
body = "Hello from Ruby\n"
loop do
  Thread.new(server.accept) do |client|
    nil until client.gets.to_s.strip.empty?
    client.write "HTTP/1.1 200 OK\r\nContent-Length: #{body.bytesize}\r\nConnection: close\r\n\r\n#{body}"
    client.close
  end
end
