use std::env;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

fn answer(mut client: TcpStream) -> std::io::Result<()> {
    let reader = BufReader::new(client.try_clone()?);
    for line in reader.lines() {
        if line?.is_empty() {
            break;
        }
    }
    let body = "Hello from Rust\n";
    write!(
        client,
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
        body.len(),
        body
    )
}

fn main() -> std::io::Result<()> {
    let host = env::var("HOST").unwrap_or_else(|_| "0.0.0.0".into());
    let port = env::var("PORT").expect("PORT says where to listen");
    for client in TcpListener::bind(format!("{host}:{port}"))?.incoming() {
        let client = client?;
        thread::spawn(move || answer(client));
    }
    Ok(())
}
