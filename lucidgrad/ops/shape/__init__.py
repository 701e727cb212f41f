"""Operations that move values about and change none: layouts, diagonals, joining, arrangements."""
