CREATE DATABASE shop CHARACTER SET utf8mb4;
USE shop;
CREATE TABLE customers (
  id INT PRIMARY KEY AUTO_INCREMENT,
  name VARCHAR(80) NOT NULL,
  email VARCHAR(120) UNIQUE,
  since DATE NOT NULL
);
CREATE TABLE orders_1 (
  id BIGINT PRIMARY KEY,
  customer_id INT NOT NULL,
  total DECIMAL(10,2) NOT NULL,
  status ENUM('new','paid','sent') NOT NULL DEFAULT 'new',
  placed_at DATETIME(3) NOT NULL
);
CREATE TABLE orders_2 LIKE orders_1;
INSERT INTO customers (name, email, since) VALUES
  ('Ada Lovelace', 'ada@example.com', '2021-03-04'),
  ('Grace Hopper', 'grace@example.com', '2022-07-01'),
  ('Edsger Dijkstra', NULL, '2023-01-15');
INSERT INTO orders_1 VALUES
  (1, 1, 20.50, 'sent', '2024-05-01 10:00:00.000'),
  (3, 2, 99.99, 'paid', '2024-05-02 11:30:00.250');
INSERT INTO orders_2 VALUES
  (2, 1, 7.00, 'new', '2024-05-02 12:00:00.500'),
  (4, 3, 1250.00, 'new', '2024-05-03 09:15:00.000');
