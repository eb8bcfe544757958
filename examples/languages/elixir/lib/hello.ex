defmodule Hello do
  use Application

  def start(_type, _args) do
    port = String.to_integer(System.fetch_env!("PORT"))
    Supervisor.start_link([{Task, fn -> serve(port) end}], strategy: :one_for_one)
  end

  defp serve(port) do
    {:ok, socket} = :gen_tcp.listen(port, [:binary, packet: :http_bin, active: false, reuseaddr: true])
    accept(socket)
  end

  defp accept(socket) do
    {:ok, client} = :gen_tcp.accept(socket)
    # A client may connect and leave without a request, as a check of the port does.
    case :gen_tcp.recv(client, 0) do
      {:ok, _request} -> answer(client)
      {:error, _reason} -> :ok
    end

    :gen_tcp.close(client)
    accept(socket)
  end

  defp answer(client) do
    body = "Hello from Elixir\n"
    :gen_tcp.send(client, "HTTP/1.1 200 OK\r\nContent-Length: #{byte_size(body)}\r\nConnection: close\r\n\r\n#{body}")
  end
end
